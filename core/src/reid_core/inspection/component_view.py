"""Everything that can be said about one component."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from reid_core.config import load_config
from reid_core.config.uses import uses_of
from reid_core.errors import PluginError, ReidError
from reid_core.inspection.parameter_table import ParameterRow, parameter_rows
from reid_core.inspection.recipe_checks import recipes_of
from reid_core.inspection.snippet import snippet_of
from reid_core.plugins.component_ref import ComponentRef
from reid_core.plugins.index import PluginIndex
from reid_core.plugins.refusals import LOCAL
from reid_core.plugins.registries import registry_of
from reid_core.plugins.registry import Registry


@dataclass(frozen=True)
class HookRow:
    """One hook that a component of kind ``hooks`` implements.

    Args:
        hook: Its name.
        arguments: What the method asks for; empty for the methods of ``HookBase``.
        order: ``tryfirst``, ``trylast``, ``wrapper``, or empty.
    """

    hook: str
    arguments: tuple[str, ...]
    order: str


@dataclass(frozen=True)
class CodeView:
    """What the code of a component tells.

    Args:
        file: Where it is defined; empty where that is not known.
        line: Its first line there; 0 where that is not known.
        doc: Its docstring.
        parameters: Its parameters.
        hooks: The hooks it implements.
        is_observer: For a hook: whether a run goes on without it when it fails.
    """

    file: str
    line: int
    doc: str
    parameters: tuple[ParameterRow, ...]
    hooks: tuple[HookRow, ...] = ()
    is_observer: bool = False


@dataclass(frozen=True)
class ComponentView:
    """One component.

    Args:
        ref: Where it comes from.
        code: What its code tells; None for recipes, and where it could not be loaded.
        used_by: Names of the installed recipes that use it.
        recipe_files: For recipes: their files by name.
        snippet: The YAML that turns it on.
        error: Why it could not be loaded.
    """

    ref: ComponentRef
    code: CodeView | None
    used_by: tuple[str, ...]
    recipe_files: Mapping[str, Path]
    snippet: str
    error: str = ""

    def plain(self) -> dict[str, object]:
        """Return it as plain types, for JSON."""
        code = {} if self.code is None else asdict(self.code)
        return {
            **asdict(self.ref),
            **code,
            "used_by": list(self.used_by),
            "recipe_files": {name: str(path) for name, path in self.recipe_files.items()},
            "snippet": self.snippet,
            "error": self.error,
        }


def view_of(ref: ComponentRef, index: PluginIndex, users: tuple[str, ...]) -> ComponentView:
    """Load a component and describe it; what its import prints goes to standard error.

    Args:
        ref: The component.
        index: Everything installed.
        users: Names of the recipes that use it.
    """
    recipes = recipes_of(ref) if ref.kind == "recipes" else {}
    code, error = None, ""
    try:
        if ref.dist == LOCAL:
            code = code_view(registry_of(ref.kind).get(ref.qualified), ref.kind)
        else:
            # Also where nothing is imported: a switch or another core may stand in the way.
            index.find(ref.kind, ref.qualified)
            if ref.kind != "recipes":
                with contextlib.redirect_stdout(sys.stderr):
                    code = code_view(Registry(ref.kind, index=index).get(ref.qualified), ref.kind)
    except PluginError as caught:
        error = str(caught)
    spelling = ref.qualified if ref.status == "conflict" else ref.name
    rows = code.parameters if code else ()
    snippet = "" if error else snippet_of(ref.kind, spelling, rows, recipes=list(recipes))
    return ComponentView(ref, code, users, recipes, snippet, error)


def code_view(factory: Callable[..., object], kind: str) -> CodeView:
    """Describe a class or function.

    Args:
        factory: The class or function.
        kind: Component kind.
    """
    file, line = _place(factory)
    hooks, is_observer = _hooks(factory) if kind == "hooks" else ((), False)
    return CodeView(file, line, _doc(factory), parameter_rows(factory, kind), hooks, is_observer)


def recipes_that_use(ref: ComponentRef, index: PluginIndex) -> tuple[str, ...]:
    """Return the installed recipes that name a component; reads them, and runs nothing.

    Args:
        ref: The component.
        index: Everything installed.
    """
    if ref.kind == "recipes":
        return ()
    recipes = {
        name: path
        for package in index.by_kind("recipes")
        if package.claims_name and not package.needs and not package.alias_of
        for name, path in recipes_of(package).items()
    }
    return tuple(name for name, path in recipes.items() if _uses(path, ref, index))


def _uses(path: Path, ref: ComponentRef, index: PluginIndex) -> bool:
    with contextlib.suppress(ReidError, OSError, ValueError):  # a broken recipe uses nothing
        for use in uses_of(load_config(path)):
            if use.kind != ref.kind or ref.name not in (use.name, use.name.rpartition("/")[2]):
                continue
            return index.find(use.kind, use.name) == ref
    return False


def _place(factory: Callable[..., object]) -> tuple[str, int]:
    try:
        target = inspect.unwrap(factory)
        file = inspect.getsourcefile(target) or ""
        return file, inspect.getsourcelines(target)[1]
    except (OSError, TypeError, ValueError):
        return "", 0


def _doc(factory: Callable[..., object]) -> str:
    # Of a class its own only: that of torch's Module says nothing about it.
    holder = vars(factory).get("__doc__") if inspect.isclass(factory) else factory.__doc__
    return inspect.cleandoc(holder) if isinstance(holder, str) else ""


def _hooks(factory: Callable[..., object]) -> tuple[tuple[HookRow, ...], bool]:
    if not inspect.isclass(factory):
        return (), False
    # Imported here: the engine needs torch, and only hooks need the engine.
    from reid_core.engine.hooks.hook_checks import is_observer
    from reid_core.engine.hooks.implementations import implementations

    rows = [
        HookRow(
            one.hook,
            tuple(argument.name for argument in one.arguments()),
            "wrapper" if one.is_wrapper else _order(one.options),
        )
        for one in implementations(factory)
    ]
    return tuple(rows), is_observer(factory)


def _order(options: Mapping[str, object]) -> str:
    return next((name for name in ("tryfirst", "trylast") if options.get(name)), "")
