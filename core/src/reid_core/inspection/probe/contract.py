"""What can be told from a class or function before it is called."""

from __future__ import annotations

import difflib
import inspect
import typing
from collections.abc import Callable, Iterator

from torch import nn
from torch.optim import Optimizer

from reid_core.contracts import ReidModel
from reid_core.data.manifest import Manifest
from reid_core.data.transforms import BatchTransform, ImageTransform
from reid_core.engine.hooks.hook_checks import check_hook_class
from reid_core.engine.hooks.implementations import HOOK_NAMES, implementations
from reid_core.errors import PluginError
from reid_core.evaluation import DistanceReranker, FeatureReranker, Protocol
from reid_core.inspection.finding import Finding
from reid_core.plugins.annotations import hints_of, signature_of
from reid_core.plugins.component_ref import singular

#: What a component of each kind is an instance of.
_TYPES: dict[str, tuple[type, ...]] = {
    "backbones": (nn.Module,),
    "heads": (nn.Module,),
    "losses": (nn.Module,),
    "models": (ReidModel,),
    "datasets": (Manifest,),
    "transforms": (ImageTransform, BatchTransform),
    "optimizers": (Optimizer,),
    "protocols": (Protocol,),
    "rerankers": (FeatureReranker, DistanceReranker),
}
#: What a component of the other kinds has.
_METHODS: dict[str, tuple[str, ...]] = {
    "samplers": ("__len__", "batches", "summary"),
    "schedules": ("factor",),
}
#: Methods that only raise an error where they are not overridden.
_TO_OVERRIDE: tuple[tuple[type, str], ...] = (
    (nn.Module, "forward"),
    (ReidModel, "forward"),
    (ReidModel, "embed"),
    (ImageTransform, "__call__"),
    (BatchTransform, "__call__"),
)


def class_findings(kind: str, factory: Callable[..., object]) -> tuple[Finding, ...]:
    """Check a class, or what a function says that it returns.

    Args:
        kind: Component kind.
        factory: What its entry point names.
    """
    if not inspect.isclass(factory):
        return tuple(_annotation_findings(kind, factory))
    if kind == "hooks":
        return tuple(_hook_findings(factory))
    return (*_type_findings(kind, factory), *_method_findings(kind, factory))


def _annotation_findings(kind: str, factory: Callable[..., object]) -> Iterator[Finding]:
    try:
        returned = hints_of(factory, signature_of(factory)).get("return")
    except (TypeError, ValueError):
        return
    expected = _TYPES.get(kind, ())
    returned = typing.get_origin(returned) or returned
    if not expected or not isinstance(returned, type) or getattr(returned, "_is_protocol", False):
        return
    if not any(issubclass(returned, one) or issubclass(one, returned) for one in expected):
        yield _fault(f"returns a {returned.__name__}, as it is annotated; expected {_a(expected)}")


def _type_findings(kind: str, owner: type) -> Iterator[Finding]:
    expected = _TYPES.get(kind, ())
    if expected and not issubclass(owner, expected):
        yield _fault(
            f"is the class {owner.__name__}, and a {singular(kind)} is {_a(expected)}; derive it "
            "from that"
        )
    missing = [name for name in _METHODS.get(kind, ()) if not hasattr(owner, name)]
    if missing:
        yield _fault(f"class {owner.__name__} has no {' and no '.join(missing)}{_hint(owner)}")


def _hint(owner: type) -> str:
    if "__iter__" in vars(owner):
        return (
            "; it is a sampler of torch, that yields rows one by one: give it __len__, "
            "batches(epoch), which yields arrays of rows, and summary(), as "
            "reid_core.data.samplers.EpochSampler says"
        )
    return ""


def _method_findings(kind: str, owner: type) -> Iterator[Finding]:
    for base, name in _TO_OVERRIDE:
        if kind == "models" and base is nn.Module:
            continue
        if issubclass(owner, base) and getattr(owner, name) is getattr(base, name):
            yield _fault(f"class {owner.__name__} does not define {name}")


def _hook_findings(owner: type) -> Iterator[Finding]:
    try:
        check_hook_class(owner)
    except PluginError as error:
        yield Finding("fault", "hook", str(error))
        return
    marked = {one.method for one in implementations(owner)}
    if not marked:
        message = f"{owner.__name__} overrides no method of HookBase, so it does nothing"
        yield Finding("warning", "hook", message)
    for name, method in vars(owner).items():
        if name.startswith("_") or name in marked or name in HOOK_NAMES or not callable(method):
            continue
        # Nearer than elsewhere: a hook may have methods of its own.
        near = difflib.get_close_matches(name, HOOK_NAMES, n=1, cutoff=0.8)
        if near:
            yield Finding(
                "warning",
                "hook",
                f"method {name} of {owner.__name__} is never called by a run; did you mean the "
                f"hook {near[0]}? Then rename it, and put @hookimpl above it",
            )


def _a(expected: tuple[type, ...]) -> str:
    names = [f"{one.__module__}.{one.__qualname__}" for one in expected]
    return f"a {' or a '.join(names)}"


def _fault(message: str) -> Finding:
    return Finding("fault", "contract", message)
