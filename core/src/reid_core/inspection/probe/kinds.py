"""How one component of each kind is built, and what is then asked of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from torch import nn

from reid_core.config import Config
from reid_core.config.components import OptimizerConfig
from reid_core.contracts import ReidModel
from reid_core.data.train_data import build_sampler, require_picklable
from reid_core.data.transforms import split_stages
from reid_core.engine.evaluation.parts import build_protocol, build_rerankers
from reid_core.engine.hooks.hook_manager import HookManager
from reid_core.errors import ConfigError
from reid_core.inspection.probe import stand_ins
from reid_core.models.build import build_model
from reid_core.optim.optimizers import build_optimizer
from reid_core.plugins.registries import HOOKS, SCHEDULES, TRANSFORMS


def _backbone(name: str) -> Iterator[str]:
    model = _model({"backbone": name, "head": stand_ins.NAME}, num_classes=None)
    backbone = model.get_submodule("backbone")
    tokens = getattr(backbone, "num_prefix_tokens", None)
    if tokens is not None and (not isinstance(tokens, int) or tokens < 0):
        yield (
            f"has num_prefix_tokens {tokens!r}; expected None for a map, or the number of class "
            "and register tokens"
        )
    yield from _forward(backbone)


def _head(name: str) -> Iterator[str]:
    backbone = stand_ins.NAME
    try:
        model = _head_model(name, backbone, stand_ins.NUM_CLASSES)
    except ConfigError:
        # It may want tokens where a map was offered.
        backbone = stand_ins.TOKENS_NAME
        model = _head_model(name, backbone, stand_ins.NUM_CLASSES)
    head = model.get_submodule("head")
    size = getattr(head, "embedding_dim", None)
    if not isinstance(size, int) or size <= 0:
        yield f"has embedding_dim {size!r}; expected a positive integer, the embedding's length"
    yield from _forward(head)
    embedding_only = _head_model(name, backbone, None).get_submodule("head")
    left = [key for key in embedding_only.state_dict() if "classifier" in key]
    if left:
        yield f"has {left[0]} although it was built without classes (num_classes is None)"


def _loss(name: str) -> Iterator[str]:
    parts = {"backbone": stand_ins.NAME, "head": stand_ins.NAME, "losses": [name]}
    for loss in _model(parts, num_classes=stand_ins.NUM_CLASSES).get_submodule("losses").children():
        yield from _forward(loss)


def _whole_model(name: str) -> Iterator[str]:
    parts = {"backbone": stand_ins.NAME, "head": stand_ins.NAME, "losses": [stand_ins.NAME]}
    yield from _forward(_model({"name": name, **parts}, num_classes=stand_ins.NUM_CLASSES))


def _transform(name: str) -> Iterator[str]:
    built = TRANSFORMS.build({"name": name}, **Config().data.transform_context)
    images, _ = split_stages([built])
    require_picklable(images)
    yield from ()


def _sampler(name: str) -> Iterator[str]:
    config = Config.model_validate({"data": {"batch": {"sampler": name}}})
    sampler = build_sampler(config, stand_ins.labels(), stand_ins.camids())
    first: object = next(iter(sampler.batches(0)), None)
    if isinstance(first, int | np.integer):
        yield (
            "yields single rows: it is a sampler, not a batch sampler; let batches(epoch) yield an "
            "array of rows for each batch"
        )
    elif not isinstance(first, np.ndarray) or first.dtype != np.int64 or first.ndim != 1:
        got = f"{first.dtype} {first.shape}" if isinstance(first, np.ndarray) else type(first)
        yield f"yields batches of {got}; expected arrays of rows, (B,) int64"


def _schedule(name: str) -> Iterator[str]:
    schedule = SCHEDULES.build(
        {"name": name}, total_epochs=10.0, warmup_epochs=0.0, tick_epochs=0.1, base_lr=0.01
    )
    factor = getattr(schedule, "factor", None)
    if not callable(factor):
        yield f"gave a {type(schedule).__name__} without a method factor(epoch)"
        return
    first = factor(0.0)
    if not isinstance(first, float | int) or not math.isfinite(first) or first < 0:
        yield f"has factor(0.0) {first!r}; expected a number that is 0 or more"


def _optimizer(name: str) -> Iterator[str]:
    # Matrices alone: some optimizers take nothing else.
    build_optimizer(OptimizerConfig(name=name), nn.Linear(2, 2, bias=False))
    yield from ()


def _protocol(name: str) -> Iterator[str]:
    build_protocol(Config.model_validate({"evaluate": {"protocol": name}}))
    yield from ()


def _reranker(name: str) -> Iterator[str]:
    build_rerankers(Config.model_validate({"evaluate": {"rerank": [name]}}))
    yield from ()


def _hook(name: str) -> Iterator[str]:
    HookManager().add(HOOKS.build({"name": name}))
    yield from ()


def _head_model(name: str, backbone: str, num_classes: int | None) -> ReidModel:
    losses = [stand_ins.NAME]
    return _model({"backbone": backbone, "head": name, "losses": losses}, num_classes=num_classes)


def _model(parts: Mapping[str, object], *, num_classes: int | None) -> ReidModel:
    return build_model(Config.model_validate({"model": dict(parts)}), num_classes=num_classes)


def _forward(module: nn.Module) -> Iterator[str]:
    if type(module).forward is nn.Module.forward:
        yield f"gave a {type(module).__name__}, which does not define forward"


#: Builds the component of a qualified name as a run would, which raises what it would raise there,
#: and yields what is wrong beyond that.
BUILDERS: Mapping[str, Callable[[str], Iterator[str]]] = {
    "backbones": _backbone,
    "heads": _head,
    "losses": _loss,
    "models": _whole_model,
    "transforms": _transform,
    "samplers": _sampler,
    "schedules": _schedule,
    "optimizers": _optimizer,
    "protocols": _protocol,
    "rerankers": _reranker,
    "hooks": _hook,
}
