"""Which components a configuration names, and how each is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from reid_core.config.schema import Config


@dataclass(frozen=True)
class Use:
    """One component that a configuration names.

    Args:
        kind: Its kind.
        name: Its name as written, plain or qualified.
        path: Where it is written: ``("model", "losses", 0)``.
        call: ``{"name": …, **parameters}``, as :meth:`Registry.build` takes it.
    """

    kind: str
    name: str
    path: tuple[str | int, ...]
    call: Mapping[str, object] = field(compare=False)


def uses_of(config: Config) -> Iterator[Use]:
    """Yield every component that a configuration names, in its order."""
    for kind, path, call in _calls(config):
        yield Use(kind, str(call["name"]), path, call)


def _calls(
    config: Config,
) -> Iterator[tuple[str, tuple[str | int, ...], Mapping[str, object]]]:
    model, data, train = config.model, config.data, config.train
    yield "models", ("model",), model.as_call()
    if model.backbone:
        yield "backbones", ("model", "backbone"), model.backbone.as_call()
    if model.head:
        yield "heads", ("model", "head"), model.head.as_call()
    for i, loss in enumerate(model.losses):
        yield "losses", ("model", "losses", i), loss.as_call()
    for i, dataset in enumerate(data.train):
        yield "datasets", ("data", "train", i), dataset.as_call()
    for i, dataset in enumerate(data.test or []):
        yield "datasets", ("data", "test", i), dataset.as_call()
    yield "samplers", ("data", "batch"), data.batch.as_call()
    for i, transform in enumerate(data.transforms):
        yield "transforms", ("data", "transforms", i), transform.as_call()
    optimizer = {
        "lr": train.optimizer.lr,
        "weight_decay": train.optimizer.weight_decay,
        **train.optimizer.as_call(),
    }
    yield "optimizers", ("train", "optimizer"), optimizer
    yield "schedules", ("train", "schedule"), train.schedule.as_call()
    yield "protocols", ("evaluate", "protocol"), config.evaluate.protocol.as_call()
    for position, reranker in enumerate(config.evaluate.rerank):
        yield "rerankers", ("evaluate", "rerank", position), reranker.as_call()
    for group, hooks in (("hooks", config.hooks), ("default_hooks", config.default_hooks)):
        for i, hook in enumerate(hooks):
            yield "hooks", (group, i), hook.as_call()
