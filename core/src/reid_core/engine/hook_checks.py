"""What pluggy would accept and then never call, or call wrongly, is refused here."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping

from torch import Tensor

from reid_core.engine.hook_base import HookBase
from reid_core.errors import PluginError, did_you_mean
from reid_core.hookspecs import PROJECT, HookSpecs

HOOK_NAMES = tuple(name for name in vars(HookSpecs) if not name.startswith("_"))
#: Hooks that are called one by one, so that all of them run; a wrapper has nothing to surround.
RUN_ALL = ("on_exception", "after_train")
#: What torch loads without executing code, besides tensors and containers.
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


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
    owner = f"hook {type(hook).__name__} of {type(hook).__module__}"
    implementations = list(_implementations(hook))
    for name, method, options in implementations:
        _check_method(owner, str(options.get("specname") or name), method, options)
    marked = {name for name, _, _ in implementations}
    by_name = HookBase.SEED_METHODS if isinstance(hook, HookBase) else ()
    for name in HOOK_NAMES:
        if name not in marked and name not in by_name and callable(getattr(hook, name, None)):
            raise PluginError(
                f"{owner}: its method {name} has the name of a hook but is not marked, so it would "
                "never be called; put @hookimpl above it, or rename it"
            )
    if not implementations and not isinstance(hook, HookBase):
        raise PluginError(
            f"{owner} implements no hook; mark its methods with @hookimpl, or derive it from "
            "HookBase"
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


def _implementations(hook: object) -> Iterator[tuple[str, object, Mapping[str, object]]]:
    for name in dir(type(hook)):
        method = inspect.getattr_static(type(hook), name)
        options = getattr(method, f"{PROJECT}_impl", None)
        if options is not None:
            yield name, method, options


def _check_method(owner: str, target: str, method: object, options: Mapping[str, object]) -> None:
    if target not in HOOK_NAMES:
        raise PluginError(
            f"{owner}: there is no hook {target!r}{did_you_mean(target, HOOK_NAMES)} "
            f"(known: {', '.join(HOOK_NAMES)})"
        )
    if target in RUN_ALL and (options.get("wrapper") or options.get("hookwrapper")):
        raise PluginError(
            f"{owner}: {target} cannot be wrapped: its implementations are called one by one, so "
            "that each of them runs"
        )
    allowed = list(inspect.signature(getattr(HookSpecs, target)).parameters)[1:]
    assert callable(method)
    for argument in list(inspect.signature(method).parameters.values())[1:]:
        if argument.name not in allowed:
            raise PluginError(
                f"{owner}: {target} has no argument {argument.name!r}; it has {', '.join(allowed)}"
            )
        if argument.default is not argument.empty:
            raise PluginError(
                f"{owner}: argument {argument.name!r} of {target} has a default; remove it, "
                "a hook is always called with every argument it asks for"
            )
