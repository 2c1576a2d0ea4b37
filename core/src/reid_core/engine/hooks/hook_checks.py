"""What pluggy would accept and then never call, or call wrongly, is refused here."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterable, Mapping, Sequence

from torch import Tensor

from reid_core.engine.hooks.hook_base import HookBase
from reid_core.engine.hooks.implementations import HOOK_NAMES, Implementation, implementations
from reid_core.errors import PluginError, did_you_mean, nearest
from reid_core.hookspecs import PROJECT, HookSpecs
from reid_core.plugins.origin import origin_of

log = logging.getLogger("reid_core")

#: Hooks that are called one by one, so that all of them run; a wrapper has nothing to surround.
RUN_ALL = ("on_exception", "after_train")
#: Hooks whose answer the run acts on: an observer, which may be switched off, gives none.
DECIDING = ("validate_config", "run_step", "should_stop")
#: What torch loads without executing code, besides tensors and containers.
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def is_observer(hook: object) -> bool:
    """Say whether a hook's class declares that a run does not depend on it."""
    kind = hook if isinstance(hook, type) else type(hook)
    return getattr(kind, "observer", False) is True


def check_hook(hook: object) -> None:
    """Refuse an object that does not fit the hooks.

    Args:
        hook: What is to be registered.

    Raises:
        PluginError: It is a class, implements nothing, or a method of it is misspelt, unmarked,
            asks for an argument that does not exist, or has a default.
    """
    if inspect.isclass(hook):
        name = hook.__name__
        raise PluginError(f"hook {name} is a class; register an instance: {name}()")
    check_hook_class(type(hook))
    for name, value in getattr(hook, "__dict__", {}).items():
        if getattr(value, f"{PROJECT}_impl", None) is not None:
            raise PluginError(
                f"hook {type(hook).__name__} ({origin_of(hook)}): {name} was put on the instance; "
                "implementations are methods of the class"
            )


def check_hook_class(kind: type) -> None:
    """Refuse a class whose instances do not fit the hooks; nothing is built.

    Args:
        kind: The class.

    Raises:
        PluginError: As of :func:`check_hook`.
    """
    owner = f"hook {kind.__name__} ({origin_of(kind)})"
    found = list(implementations(kind))
    for implementation in found:
        _check_method(owner, implementation)
    if is_observer(kind):
        _check_observer(owner, found)
    _check_unmarked(owner, kind, {implementation.method for implementation in found})
    if not found:
        _say_that_nothing_is_implemented(owner, kind)


def check_steps(hooks: Iterable[tuple[str, object]], default: str) -> None:
    """Refuse two hooks that both do the step: the second would silently never run.

    Args:
        hooks: All hooks, as (id, hook).
        default: Id of the hook that does the step when no other does.

    Raises:
        PluginError: There are two.
    """
    doing = [
        id_
        for id_, hook in hooks
        if id_ != default
        and any(i.hook == "run_step" and not i.is_wrapper for i in implementations(hook))
    ]
    if len(doing) > 1:
        raise PluginError(
            f"hooks {' and '.join(map(repr, doing))} both replace run_step, and only the first "
            "would act; leave one out, or make it a wrapper: @hookimpl(wrapper=True)"
        )


def require_plain(value: object, what: str) -> None:
    """Refuse state that would be saved and could not be loaded again.

    Args:
        value: Tensors, numbers, text, and lists, tuples and dictionaries of them.
        what: Whose it is, for the message.

    Raises:
        PluginError: Something else is in it, a NumPy number for example.
    """
    if isinstance(value, Mapping):
        for key, child in value.items():
            require_plain(key, what)
            require_plain(child, f"{what}, entry {key!r}")
    elif type(value) in (list, tuple):
        for child in value:  # type: ignore[attr-defined]
            require_plain(child, what)
    elif type(value) not in _PLAIN and not isinstance(value, Tensor):
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise PluginError(
            f"{what} holds a {kind}, with which no checkpoint can be loaded again; expected "
            "tensors and plain Python types (float(x), x.tolist())"
        )


def _check_method(owner: str, implementation: Implementation) -> None:
    target = implementation.hook
    if target not in HOOK_NAMES:
        raise PluginError(
            f"{owner}: there is no hook {target!r}{did_you_mean(target, HOOK_NAMES)} "
            f"(known: {', '.join(HOOK_NAMES)})"
        )
    if target in RUN_ALL and implementation.is_wrapper:
        raise PluginError(
            f"{owner}: {target} cannot be wrapped: its implementations are called one by one, so "
            "that each of them runs"
        )
    allowed = list(inspect.signature(getattr(HookSpecs, target)).parameters)[1:]
    for argument in implementation.arguments():
        _check_argument(f"{owner}: {target}", argument, allowed)


def _check_argument(method: str, argument: inspect.Parameter, allowed: Sequence[str]) -> None:
    if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD, argument.KEYWORD_ONLY):
        raise PluginError(
            f"{method} has the argument {str(argument)!r}, which would never be filled; name "
            f"those that it needs, without a star: {', '.join(allowed)}"
        )
    if argument.name not in allowed:
        raise PluginError(
            f"{method} has no argument {argument.name!r}{did_you_mean(argument.name, allowed)} "
            f"(it has {', '.join(allowed)})"
        )
    if argument.default is not argument.empty:
        raise PluginError(
            f"{method}: the argument {argument.name!r} has a default; remove it, a hook is always "
            "called with every argument it asks for"
        )


def _check_observer(owner: str, found: Iterable[Implementation]) -> None:
    for implementation in found:
        if implementation.hook in DECIDING or implementation.is_wrapper:
            what = "wraps" if implementation.is_wrapper else "implements"
            raise PluginError(
                f"{owner} says that it is an observer and {what} {implementation.hook}, on which "
                "the run depends; remove observer = True, or that method"
            )


def _check_unmarked(owner: str, kind: type, marked: set[str]) -> None:
    by_name = HookBase.SEED_METHODS if issubclass(kind, HookBase) else ()
    for name in HOOK_NAMES:
        if name not in marked and name not in by_name and callable(getattr(kind, name, None)):
            raise PluginError(
                f"{owner}: its method {name} has the name of a hook but is not marked, so it would "
                "never be called; put @hookimpl above it, or rename it"
            )


def _say_that_nothing_is_implemented(owner: str, kind: type) -> None:
    methods = [n for n in dir(kind) if not n.startswith("_") and n not in dir(HookBase)]
    methods = [n for n in methods if callable(getattr(kind, n))]
    near = [f"{n}: did you mean {hook}?" for n in methods if (hook := nearest(n, HOOK_NAMES))]
    has = f"; its methods are {', '.join(methods)}" if methods else ""
    hint = f" ({'; '.join(near)})" if near else ""
    if not issubclass(kind, HookBase):
        raise PluginError(
            f"{owner} implements no hook{has}{hint}; mark its methods with @hookimpl, or derive it "
            "from HookBase"
        )
    log.warning("%s overrides no method of HookBase, so it does nothing%s%s", owner, has, hint)
