"""The names of a new plugin: what a person types, and what becomes of it."""

from __future__ import annotations

import builtins
import keyword
import re
from dataclasses import dataclass

from reid_core.errors import UsageError
from reid_core.plugins.metadata import PLUGIN_PREFIX
from reid_core.templates.kinds import TemplateKind

#: Words of small letters and digits with single hyphens or underscores between them.
_RULE = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*\Z")
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

#: What YAML reads as something else than text; a configuration could not name such a component.
_NO_TEXT_IN_YAML = frozenset({"false", "no", "null", "off", "on", "true", "yes"})

#: Modules and tests of a project whose names do not depend on the component's.
FIXED_FILES = frozenset({"conformance", "example_set", "recipes"})

#: Classes that the files of a template import or define beside the component.
_CLASSES = frozenset(
    {
        *("Batch", "ConfigError", "Counter", "DataError", "DefaultTrainer", "HeadOutput"),
        *("ImageTransform", "Iterator", "Literal", "Mapping", "NDArray", "Tensor", "Trainer"),
    }
)
#: Other names in the files of the template whose component is a function.
_FUNCTIONS = frozenset(
    {
        *("annotations", "example_folder", "folder", "images", "manifest", "match", "missing"),
        *("name", "named", "names", "notes", "np", "path", "pytest", "re", "resolve_root"),
        *("root", "row", "rows", "split", "tmp_path", "write"),
    }
)


@dataclass(frozen=True)
class PluginNames:
    """Every name of a plugin with one component.

    Args:
        dist: The distribution, ``reid-plugin-my-loss``.
        module: The package that is imported, ``reid_plugin_my_loss``.
        component: What a config says, and the module of the component, ``my_loss``.
        attribute: The class or function in it, ``MyLoss``.
    """

    dist: str
    module: str
    component: str
    attribute: str


def parse_names(text: str, template: TemplateKind) -> PluginNames:
    """Make the names of a plugin from what was typed.

    Args:
        text: ``my-loss``, ``my_loss``, ``reid-plugin-my-loss`` or ``reid_plugin_my_loss``.
        template: What it is to be.

    Raises:
        UsageError: No distribution or module can be called like that.
    """
    if not _RULE.match(text):
        near = _suggestion(text)
        raise UsageError(
            f"NAME {text!r} cannot name a package; expected small letters and digits with single "
            f"hyphens or underscores between them, beginning with a letter"
            f"{f'; did you mean {near}?' if near else ', for example my-loss'}"
        )
    component = text.replace("-", "_").removeprefix(PLUGIN_PREFIX.replace("-", "_"))
    if f"{component}_" == PLUGIN_PREFIX.replace("-", "_"):
        raise UsageError(f"NAME {text!r} is the beginning of every name; go on with your own word")
    advice = f"choose another name, for example {component}-{template.word}"
    if not component.isidentifier():
        raise UsageError(
            f"NAME {text!r}: {component!r} begins with a digit, so no module can be called like "
            f"that; begin with a letter"
        )
    if keyword.iskeyword(component):
        raise UsageError(f"NAME {text!r}: {component!r} is a keyword of Python; {advice}")
    if component in _NO_TEXT_IN_YAML:
        raise UsageError(
            f"NAME {text!r}: YAML reads {component!r} as a value and no name; {advice}"
        )
    if component.startswith("test"):
        raise UsageError(
            f"NAME {text!r}: pytest would take {component!r} for a test; begin with another word"
        )
    if component in FIXED_FILES:
        raise UsageError(
            f"NAME {text!r}: every project has another file of the name {component!r}; {advice}"
        )
    return PluginNames(
        dist=PLUGIN_PREFIX + component.replace("_", "-"),
        module=(PLUGIN_PREFIX + component).replace("-", "_"),
        component=component,
        attribute=_attribute(component, template),
    )


def _attribute(component: str, template: TemplateKind) -> str:
    """Return the name of the class or function, which no other in its files may have."""
    if template.is_function:
        is_taken = component in _FUNCTIONS or hasattr(builtins, component)
        return f"{component}_{template.word}" if is_taken else component
    name = _camel(component)
    is_taken = name in _CLASSES or hasattr(builtins, name)
    return name + template.base if is_taken else name


def _camel(component: str) -> str:
    return "".join(word.capitalize() for word in component.split("_"))


def _suggestion(text: str) -> str:
    """Return the nearest spelling that follows the rule; empty when there is none."""
    words = re.split(r"[^a-z0-9]+", _WORD_START.sub("-", text).lower())
    near = "-".join(word for word in words if word)
    return near if _RULE.match(near) and f"{near}-" != PLUGIN_PREFIX else ""
