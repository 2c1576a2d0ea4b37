"""The projects that ``reid-plugins new`` writes: one folder a component kind, one for all of them.

Nothing here imports torch or a plugin; the templates are text files beside the modules.
"""

from reid_core.templates.kinds import TEMPLATE_KINDS, TemplateKind, template_kind
from reid_core.templates.names import PluginNames, parse_names
from reid_core.templates.project import Project, render_project

__all__ = [
    "TEMPLATE_KINDS",
    "PluginNames",
    "Project",
    "TemplateKind",
    "parse_names",
    "render_project",
    "template_kind",
]
