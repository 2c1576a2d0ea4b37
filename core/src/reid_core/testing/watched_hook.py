"""A hook whose methods are watched: what they raise, and which generators they touch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

from reid_core.checkpoint.random_state import random_state
from reid_core.engine.hooks.implementations import implementations
from reid_core.testing.randomness import moved_generators


@dataclass
class Watch:
    """What the methods of one hook did during a run.

    Args:
        called: Methods in the order of their calls.
        moved: Global generators that a method touched, by method.
        raised: What a method raised, by method.
    """

    called: list[str] = field(default_factory=list)
    moved: dict[str, tuple[str, ...]] = field(default_factory=dict)
    raised: dict[str, BaseException] = field(default_factory=dict)


def watch(hook: object, record: Watch) -> None:
    """Watch every hook method of an object, but for ``run_step`` and wrappers.

    Those two surround the step itself, which may draw random numbers.

    Args:
        hook: Gets a class derived from its own, with the same name.
        record: Is filled in as methods are called.
    """
    cls = type(hook)
    body: dict[str, object] = {
        one.method: _watched(one.function, one.method, record)
        for one in implementations(cls)
        if one.hook != "run_step" and not one.is_wrapper
    }
    body |= {"__qualname__": cls.__qualname__, "__module__": cls.__module__}
    if not hasattr(hook, "__dict__"):
        body["__slots__"] = ()
    # Not a plain assignment: a frozen dataclass refuses it.
    object.__setattr__(hook, "__class__", type(cls.__name__, (cls,), body))


def _watched(method: Callable[..., object], name: str, record: Watch) -> object:
    @functools.wraps(method)
    def call(*arguments: object, **keywords: object) -> object:
        record.called.append(name)
        before = random_state()
        try:
            return method(*arguments, **keywords)
        except BaseException as error:
            record.raised.setdefault(name, error)
            raise
        finally:
            moved = moved_generators(before, random_state())
            if moved:
                record.moved.setdefault(name, moved)

    return call
