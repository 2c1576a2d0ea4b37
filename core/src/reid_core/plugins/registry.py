"""A registry: names of one kind to the classes and functions they stand for."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, overload

from reid_core.errors import ConfigError, PluginError
from reid_core.plugins.index import ComponentRef, PluginIndex, installed, singular
from reid_core.plugins.parameters import BoundCall, bind

F = TypeVar("F", bound=Callable[..., object])

#: The distribution name of components registered in this process.
LOCAL = "local"


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

    def names(self) -> tuple[str, ...]:
        """Return every name, sorted; imports nothing."""
        return tuple(sorted({*self._local, *(ref.name for ref in self._refs())}))

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
        obj = self._local[local_name]
        module = getattr(obj, "__module__", type(obj).__module__)
        value = f"{module}:{getattr(obj, '__qualname__', local_name)}"
        return ComponentRef(self.kind, local_name, value, LOCAL, "0", "ok")

    def get(self, name: str) -> Callable[..., object]:
        """Return the class or function behind a name; imports its module the first time.

        Raises:
            PluginError: Unknown or ambiguous name, or the import fails. A failed import is not
                tried again by this registry, since a module's side effects would run twice.
        """
        ref = self.resolve(name)
        if ref.dist == LOCAL:
            return self._local[ref.name]
        if ref.qualified in self._failed:
            raise self._failed[ref.qualified]
        if ref.qualified not in self._loaded:
            try:
                self._loaded[ref.qualified] = _load(ref)
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
        return self.get(name)(**call.keywords)

    def _refs(self) -> tuple[ComponentRef, ...]:
        return (self.index or installed()).by_kind(self.kind)


def _place_of(error: BaseException) -> str:
    """Name the file and line where an import failed, unless that was here."""
    frames = traceback.extract_tb(error.__traceback__)
    files = [frame for frame in frames if "importlib" not in frame.filename]
    if not files or files[-1].filename == __file__:
        return ""
    return f" ({files[-1].filename}:{files[-1].lineno})"


def _advice(ref: ComponentRef) -> str:
    if ref.editable:
        return f"{ref.dist} is installed in editable mode: mend its sources"
    return f"reinstall or update it: pip install --upgrade {ref.dist}"


def _load(ref: ComponentRef) -> Callable[..., object]:
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
            f"{where} cannot be loaded: {reason}{_place_of(error)}; {_advice(ref)}"
        ) from error
    if not callable(obj):
        raise PluginError(f"{where} is a {type(obj).__name__}; expected a class or function")
    return obj
