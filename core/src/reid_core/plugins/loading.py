"""From the record of a component to the class or function itself."""

from __future__ import annotations

import importlib
import re
import traceback
from collections.abc import Callable

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from reid_core.errors import PluginError
from reid_core.plugins.component_ref import ComponentRef, singular
from reid_core.plugins.editable import install_again, source_folder
from reid_core.plugins.metadata import requirements_of

_EXTRA = re.compile(r"""\bextra == ["']([^"']+)""")


def load_component(ref: ComponentRef) -> Callable[..., object]:
    """Import what an entry point stands for.

    Raises:
        PluginError: It cannot be imported, or is neither a class nor a function; the message names
            distribution, version, entry point and cause.
    """
    module_name, _, attribute = ref.value.partition(":")
    where = f"{singular(ref.kind)} {ref.name!r} of {ref.origin()}"
    try:
        obj: object = importlib.import_module(module_name)
        for part in attribute.split("."):
            obj = getattr(obj, part)
    except (Exception, SystemExit) as error:
        # SystemExit too: a plugin that calls sys.exit() at import must not end the run silently.
        reason = f"{type(error).__name__}: {error}" if str(error) else repr(error)
        raise PluginError(
            f"{where} cannot be loaded: {reason}{_place_of(error)}; {_advice(ref, error)}"
        ) from error
    if not callable(obj):
        raise PluginError(
            f"{where} is an object of type {type(obj).__name__}; expected a class or function; "
            f"{_reinstall(ref, is_entry_doubtful=True)}"
        )
    return obj


def _place_of(error: BaseException) -> str:
    """Name the file and line where an import failed, unless that was here."""
    frames = traceback.extract_tb(error.__traceback__)
    files = [frame for frame in frames if "importlib" not in frame.filename]
    if not files or files[-1].filename == __file__:
        return ""
    return f" ({files[-1].filename}:{files[-1].lineno})"


def _advice(ref: ComponentRef, error: BaseException) -> str:
    """Say what to type after a failed import."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    missing, own = _top(name or ""), _top(ref.value.partition(":")[0])
    if missing in ("", own):
        is_not_there = isinstance(error, ModuleNotFoundError | AttributeError)
        return _reinstall(ref, is_entry_doubtful=is_not_there)
    for requirement in requirements_of(ref.dist):
        if canonicalize_name(requirement.name) == canonicalize_name(missing):
            return f"{ref.dist} requires {missing}, which is missing: {_pip(ref, requirement)}"
    if ref.editable:
        return (
            f"{missing} is missing, and {ref.dist} does not require it: mend its sources, or add "
            f"the package that provides {missing} to its dependencies and install it again: "
            f"{install_again(source_folder(ref.dist))}"
        )
    return (
        f"{missing} is missing, and {ref.dist} does not say that it requires it: install the "
        f"package that provides {missing}, and report it to the author of {ref.dist}"
    )


def _top(module: str) -> str:
    return module.partition(".")[0]


def _pip(ref: ComponentRef, requirement: Requirement) -> str:
    """Return the command that installs a requirement, as an extra where it is one."""
    extra = _EXTRA.search(str(requirement.marker or ""))
    plain = f"{requirement.name}{requirement.specifier}"
    what = f"{ref.dist}[{extra[1]}]" if extra else plain
    return f"pip install '{what}'"


def _reinstall(ref: ComponentRef, *, is_entry_doubtful: bool) -> str:
    """Say how to get a distribution that can be imported.

    Args:
        ref: Its component.
        is_entry_doubtful: Whether the entry point may name the wrong thing.
    """
    if not ref.editable:
        return f"reinstall or update it: pip install --upgrade {ref.dist}"
    what, source = f"{ref.dist} is installed in editable mode", source_folder(ref.dist)
    again = install_again(source)
    if source is not None and not source.is_dir():
        return f"{what} from {source}, which is not there any more: {again}"
    if is_entry_doubtful:
        return f"{what}: mend its sources, or its pyproject.toml and install it again: {again}"
    return f"{what}: mend its sources"
