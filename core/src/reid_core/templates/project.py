"""The files of a new project, rendered in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from packaging.version import Version

from reid_core.errors import PluginError, UsageError
from reid_core.plugins.metadata import CORE, PLUGIN_API, installed_version
from reid_core.templates.kinds import TemplateKind
from reid_core.templates.names import PluginNames


@dataclass(frozen=True)
class Project:
    """A project that is to be written.

    Args:
        names: Its names.
        recipe: The name of its example recipe.
        files: Text by path, relative to the project's folder, with forward slashes.
    """

    names: PluginNames
    recipe: str
    files: dict[str, str]


def render_project(names: PluginNames, template: TemplateKind, *, author: str = "") -> Project:
    """Render every file of a project; nothing is written.

    Args:
        names: What it is called.
        template: What it is.
        author: Who is named in the licence and the metadata; by default the project's authors.

    Raises:
        UsageError: The author's name holds control characters.
        PluginError: The core is not installed, so it is not known which version is the floor.
    """
    # Imported here: no other command needs it.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("reid_core", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["toml"] = _toml
    values = {
        "names": names,
        "kind": template,
        "author": _checked(author) or f"The authors of {names.dist}",
        "year": date.today().year,
        "floor": _floor(),
        "plugin_api": PLUGIN_API,
    }
    files = {
        path: environment.get_template(source).render(values)
        for path, source in _sources(names, template)
    }
    files[f"src/{names.module}/py.typed"] = ""
    return Project(names, f"{names.component}/example", dict(sorted(files.items())))


def _sources(names: PluginNames, template: TemplateKind) -> Iterator[tuple[str, str]]:
    """Yield the path of each file and that of its template."""
    package, own = f"src/{names.module}", template.word
    yield ".github/workflows/ci.yml", "common/ci.yml.j2"
    yield ".gitignore", "common/gitignore.j2"
    yield "CHANGELOG.md", "common/changelog.md.j2"
    yield "LICENSE", "common/license.j2"
    yield "README.md", f"{own}/readme.md.j2"
    yield "pyproject.toml", "common/pyproject.toml.j2"
    yield f"{package}/__init__.py", "common/init.py.j2"
    yield f"{package}/{names.component}.py", f"{own}/component.py.j2"
    yield f"{package}/recipes/example.yaml", f"{own}/example.yaml.j2"
    yield "tests/test_conformance.py", "common/conformance_test.py.j2"
    yield f"tests/test_{names.component}.py", f"{own}/component_test.py.j2"
    if template.kind == "datasets":
        yield f"{package}/example_set.py", "dataset/example_set.py.j2"
        yield "tests/conftest.py", "dataset/conftest.py.j2"


def _toml(text: str) -> str:
    """Write a text as a TOML string; JSON's escapes are TOML's too."""
    return json.dumps(text, ensure_ascii=False)


def _checked(author: str) -> str:
    if not author.isprintable():
        raise UsageError(f"--author {author!r}: expected one line without control characters")
    return author.strip()


def _floor() -> str:
    """Return the oldest core that the project is known to work with: the installed one."""
    text = installed_version(CORE)
    if text is None:
        raise PluginError(
            f"{CORE} is on the path but not installed, so its version is not known; pip install it"
        )
    version = Version(text)
    # A pre-release is older than the release of its number: 0.2 would rule out 0.2.0rc1.
    is_early = version.is_prerelease
    return version.public if is_early else f"{version.major}.{version.minor}"
