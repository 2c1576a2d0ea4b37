"""Which methods of a hook implement which hook."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import pluggy

from reid_core.engine.hooks.hook_base import HookBase
from reid_core.hookspecs import PROJECT, HookSpecs

#: Every hook, in the order of its specification.
HOOK_NAMES = tuple(name for name in vars(HookSpecs) if not name.startswith("_"))

#: The options of a method that is an implementation by its name.
PLAIN = pluggy.HookimplOpts(
    wrapper=False,
    hookwrapper=False,
    optionalhook=False,
    tryfirst=False,
    trylast=False,
    specname=None,
)


@dataclass(frozen=True)
class Implementation:
    """One method of a hook.

    Args:
        method: Its name.
        hook: The hook it implements; another name than the method's where the mark says so.
        function: The method as its class defines it, ``self`` included.
        options: pluggy's options: ``tryfirst``, ``trylast``, ``wrapper``.
    """

    method: str
    hook: str
    function: Callable[..., object]
    options: pluggy.HookimplOpts

    @property
    def is_wrapper(self) -> bool:
        """Whether it surrounds the others instead of being one of them."""
        return bool(self.options.get("wrapper") or self.options.get("hookwrapper"))

    def arguments(self) -> list[inspect.Parameter]:
        """Return the arguments it asks for, without ``self``."""
        return list(inspect.signature(self.function).parameters.values())[1:]


def implementations(hook: object) -> Iterator[Implementation]:
    """Yield what a hook implements.

    Args:
        hook: An object or its class. Marked methods count, and of a :class:`HookBase` the six
            methods of the seeds where they are overridden.
    """
    owner = hook if inspect.isclass(hook) else type(hook)
    for name in dir(owner):
        method = inspect.getattr_static(owner, name)
        options = getattr(method, f"{PROJECT}_impl", None)
        if options is not None:
            target = str(options.get("specname") or name)
            yield Implementation(name, target, method, cast("pluggy.HookimplOpts", options))
        elif is_overridden(owner, name):
            yield Implementation(name, name, method, PLAIN)


def is_overridden(owner: type, name: str) -> bool:
    """Say whether a subclass of :class:`HookBase` has a method of the seeds of its own."""
    if name not in HookBase.SEED_METHODS or not issubclass(owner, HookBase):
        return False
    return getattr(owner, name) is not getattr(HookBase, name)
