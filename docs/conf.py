"""How Sphinx builds these pages; everything it reads is on this machine."""

project = "reid-core"
author = "the reid-core contributors"
copyright = author

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]

# Links such as configuration.md#merging work on any page, and a wrong one is a warning.
myst_heading_anchors = 3

html_theme = "furo"
html_title = "reid-core"

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
# The docstrings' last section: the paper and equation that something follows.
napoleon_custom_sections = [("Source", "notes_style")]
