"""Methods of a trainer that see the plugins which its configuration leaves on, and no others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from reid_core.config import Config
from reid_core.plugins.index import disabled_plugins


class _Configured(Protocol):
    config: Config


P = ParamSpec("P")
S = TypeVar("S", bound=_Configured)
T = TypeVar("T")


def with_its_plugins(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Hold ``plugins.disable`` of the object's configuration while the method runs."""

    @functools.wraps(method)
    def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with disabled_plugins(self.config.plugins.disable):
            return method(self, *args, **kwargs)

    return run
