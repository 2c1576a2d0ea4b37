"""A registry: names of one kind to the classes and functions they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, overload

from reid_core.errors import ConfigError, PluginError, ReidError
from reid_core.plugins.index import (
    ComponentRef,
    PluginIndex,
    installed,
    singular,
    warn_if_deprecated,
)
from reid_core.plugins.loading import load_component
from reid_core.plugins.local_files import plugin_file_of
from reid_core.plugins.parameters import BoundCall, bind
from reid_core.plugins.refusals import LOCAL

F = TypeVar("F", bound=Callable[..., object])


@dataclass
class Registry:
    """Names of one kind, found through entry points or registered in this process.

    Installed components are found by their entry points and imported when first asked for. In a
    notebook or a test an object can be registered by hand::

        @BACKBONES.register()
        class MyBackbone(nn.Module): ...

    Args:
        kind: Component kind; the entry-point group is ``reid_core.<kind>``.
        index: Where installed components are looked up; this process's index by default.
    """

    kind: str
    index: PluginIndex | None = None
    _local: dict[str, Callable[..., object]] = field(default_factory=dict, init=False, repr=False)
    _loaded: dict[str, Callable[..., object]] = field(default_factory=dict, init=False, repr=False)
    _failed: dict[str, PluginError] = field(default_factory=dict, init=False, repr=False)

    @overload
    def register(self, obj: F, *, name: str | None = None) -> F: ...
    @overload
    def register(self, obj: None = None, *, name: str | None = None) -> Callable[[F], F]: ...
    def register(self, obj: F | None = None, *, name: str | None = None) -> F | Callable[[F], F]:
        """Add an object of this process, as a call or as a decorator.

        Args:
            obj: A class or function.
            name: Its name; ``obj.__name__`` by default.

        Raises:
            PluginError: The name was registered before with another object, or the object is no
                class or function.
        """
        if obj is None:
            return lambda decorated: self.register(decorated, name=name)
        if not callable(obj):
            raise PluginError(
                f"{self.kind}: {obj!r} is a {type(obj).__name__}; expected a class or function "
                "(a name is given as name=…)"
            )
        key = name or getattr(obj, "__name__", None)
        if key is None:
            raise PluginError(f"{self.kind}: {obj!r} has no __name__; pass name=…")
        if self._local.get(key, obj) is not obj:
            raise PluginError(
                f"{self.kind}: {key!r} is registered already, as {self._local[key]!r}; "
                "register the new one under another name"
            )
        self._local[key] = obj
        return obj

    def unregister(self, name: str) -> None:
        """Forget an object of this process, where there is one of that name."""
        self._local.pop(name, None)

    def names(self) -> tuple[str, ...]:
        """Return every name that a distribution or this process claims; imports nothing."""
        claimed = (ref.name for ref in self._refs() if ref.claims_name)
        return tuple(sorted({*self._local, *claimed}))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def resolve(self, name: str) -> ComponentRef:
        """Say where a name comes from, without importing it.

        Args:
            name: Plain, or qualified as ``distribution/name``.

        Raises:
            PluginError: Nothing or more than one thing has that name.
        """
        index = self.index or installed()
        local_name = name.removeprefix(f"{LOCAL}/")
        if local_name not in self._local:
            return index.find(self.kind, name, also=self._local)
        clash = [ref for ref in self._refs() if ref.name == name and ref.claims_name]
        if clash:
            raise PluginError(
                f"{singular(self.kind)} {name!r} was registered in this process and is provided by "
                f"{clash[0].origin()}; say which one: {LOCAL}/{name} or {clash[0].qualified}"
            )
        return self._local_ref(local_name)

    def local(self) -> tuple[ComponentRef, ...]:
        """Return what was registered in this process, sorted by name."""
        return tuple(self._local_ref(name) for name in sorted(self._local))

    def get(self, name: str) -> Callable[..., object]:
        """Return the class or function behind a name; imports its module the first time.

        Raises:
            PluginError: Unknown or ambiguous name, or the import fails. A failed import is not
                tried again by this registry, since a module's side effects would run twice.
        """
        ref = self.resolve(name)
        warn_if_deprecated(ref)
        if ref.dist == LOCAL:
            return self._local[ref.name]
        if ref.qualified in self._failed:
            raise self._failed[ref.qualified]
        if ref.qualified not in self._loaded:
            try:
                self._loaded[ref.qualified] = load_component(ref)
            except PluginError as error:
                self._failed[ref.qualified] = error
                raise
        return self._loaded[ref.qualified]

    def bind(
        self, name: str, parameters: Mapping[str, object], context: Mapping[str, object]
    ) -> BoundCall:
        """Match parameters and context against a component's signature, without calling it."""
        return bind(self.get(name), parameters, context)

    def build(self, config: Mapping[str, object], /, **context: object) -> object:
        """Build a component from ``{"name": …, **parameters}``.

        Args:
            config: Its name and parameters.
            **context: What the caller offers; passed only where the signature names it.

        Returns:
            What the factory returns.

        Raises:
            PluginError: The name cannot be resolved or loaded.
            ConfigError: A parameter is unknown, missing, or of the wrong type, or there is no
                name.
        """
        kind = singular(self.kind)
        if not isinstance(config.get("name"), str):
            raise ConfigError(f"{kind}: expected {{'name': …, **parameters}}, got {config!r}")
        parameters = {key: value for key, value in config.items() if key != "name"}
        name = str(config["name"])
        call = self.bind(name, parameters, context)
        if call.problems:
            lines = [
                f"{kind} {name}: {p.parameter + ': ' if p.parameter else ''}{p.message}"
                for p in call.problems
            ]
            raise ConfigError("\n".join(lines))
        factory = self.get(name)
        try:
            return factory(**call.keywords)
        except ReidError:
            raise
        except Exception as error:
            # The traceback shows where, this whose code it is.
            error.add_note(f"raised by {kind} {name!r} of {self.resolve(name).origin()}")
            raise

    def _local_ref(self, name: str) -> ComponentRef:
        obj = self._local[name]
        module = getattr(obj, "__module__", type(obj).__module__)
        value = f"{module}:{getattr(obj, '__qualname__', name)}"
        file = plugin_file_of(obj)
        return ComponentRef(self.kind, name, value, LOCAL, file.version if file else "0", "ok")

    def _refs(self) -> tuple[ComponentRef, ...]:
        return (self.index or installed()).by_kind(self.kind)
