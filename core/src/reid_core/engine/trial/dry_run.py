"""One batch of everything that a run does, in a folder that is thrown away."""

from __future__ import annotations

import logging
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from reid_core.checkpoint.folder import load_checkpoint
from reid_core.engine.evaluation.small_set import SmallSet, small_set
from reid_core.engine.evaluation.weights import load_model
from reid_core.engine.hooks.hook_checks import is_observer
from reid_core.engine.reproducing.compare_states import find_difference
from reid_core.errors import CheckpointError, UsageError
from reid_core.hookspecs import hookimpl
from reid_core.wording import counted

if TYPE_CHECKING:
    from reid_core.contracts import Batch
    from reid_core.engine.default_trainer import DefaultTrainer

log = logging.getLogger("reid_core")

#: Steps of a dry run: the first one is slower than the others.
STEPS = 3


@dataclass(frozen=True)
class Part:
    """A part of a run that was tried.

    Args:
        name: What it is.
        seconds: How long it took.
        told: What there is to say of it.
    """

    name: str
    seconds: float
    told: str = ""


@dataclass(frozen=True)
class Estimate:
    """How long the whole run may take.

    Args:
        num_steps: Steps that are left.
        step_seconds: Seconds a step, the wait for its batch included.
        from_steps: Steps that this is the mean of.
        num_evaluations: Evaluations of all test sets.
        evaluation_seconds: Seconds of one of them.
        from_images: Images that this was measured on.
    """

    num_steps: int
    step_seconds: float
    from_steps: int
    num_evaluations: int
    evaluation_seconds: float
    from_images: int

    @property
    def seconds(self) -> float:
        """Seconds of the whole run."""
        training = self.num_steps * self.step_seconds
        return training + self.num_evaluations * self.evaluation_seconds


@dataclass(frozen=True)
class DryRun:
    """What a dry run found.

    Args:
        parts: The parts, in their order.
        peak_bytes: Most memory that was in use; None where it cannot be measured.
        memory_of: What that memory is of.
        left_out: Ids of the observers, which did not act.
        estimate: How long the whole run may take.
    """

    parts: tuple[Part, ...]
    peak_bytes: int | None
    memory_of: str
    left_out: tuple[str, ...]
    estimate: Estimate


def dry_run(trainer: DefaultTrainer) -> DryRun:
    """Do one batch of everything; figures are neither shown nor returned: they mean nothing.

    The hooks of the run act, but for observers, which may write to other places. All others write
    into the run folder alone, so it should be one that is thrown away.

    Args:
        trainer: Before its first step, or after a resume, in a run folder to be thrown away.

    Raises:
        UsageError: The run has no step left.
        CheckpointError: A saved state is not what is read back.
        Exception: Whatever a run would end with.
    """
    start, end = trainer.start_iter, trainer.max_iter
    if start >= end:
        raise UsageError(f"the run is at its end already: {start} of {end} steps are done")
    left_out = tuple(id_ for id_, hook in trainer.hooks.items() if is_observer(hook))
    for id_ in left_out:
        trainer.hooks.remove(id_)
    sets = [small_set(e, trainer.config, trainer.processes) for e in trainer.evaluators]
    for one in sets:
        one.evaluator.condition_on(trainer.eval_model.conditions, trainer.camera_map)
    trainer.evaluators = [one.evaluator for one in sets]
    watch = _Watch()
    trainer.hooks.add(watch, id="dry_run")
    with _only_warnings(watch):
        trainer.train(start, min(start + STEPS, end))
        parts = [*_steps(watch, trainer), *_evaluations(watch, sets), *_saved(trainer)]
    peak, memory_of = _peak_memory(trainer.device)
    estimate = _estimate(trainer, watch, sets, num_steps=end - start)
    return DryRun(tuple(parts), peak, memory_of, left_out, estimate)


@dataclass
class _Watch:
    """Takes the time, and evaluates once where no hook does."""

    #: When each step began to wait for its batch, and the end of the last one.
    ticks: list[float] = field(default_factory=list)
    batch_shape: tuple[int, ...] = ()
    evaluations: dict[str, float] = field(default_factory=dict)
    is_evaluating: bool = False
    _since: float = 0.0

    @hookimpl(trylast=True)
    def before_epoch(self) -> None:
        if not self.ticks:
            self.ticks.append(time.perf_counter())

    @hookimpl
    def before_step(self, batch: Batch) -> None:
        self.batch_shape = tuple(batch.images.shape)

    @hookimpl(trylast=True)
    def after_step(self, trainer: DefaultTrainer) -> None:
        _wait_for(trainer.device)
        self.ticks.append(time.perf_counter())

    @hookimpl(trylast=True)
    def after_epoch(self, trainer: DefaultTrainer) -> None:
        if trainer.evaluators and trainer.iter >= trainer.max_iter and not trainer.retrievals:
            trainer.test()

    @hookimpl(tryfirst=True)
    def before_eval(self, name: str) -> None:
        self.is_evaluating = True
        self._since = time.perf_counter()

    @hookimpl(tryfirst=True)
    def after_eval(self, name: str) -> None:
        self.is_evaluating = False
        self.evaluations[name] = time.perf_counter() - self._since

    @property
    def steps(self) -> list[float]:
        """Seconds of each step."""
        return [after - before for before, after in zip(self.ticks, self.ticks[1:], strict=False)]


@contextmanager
def _only_warnings(watch: _Watch) -> Iterator[None]:
    """Let nobody take figures of a few images for results, nor a removed file for one to open."""

    def is_told(record: logging.LogRecord) -> bool:
        lowest = logging.ERROR if watch.is_evaluating else logging.WARNING
        return record.levelno >= lowest

    log.addFilter(is_told)
    try:
        yield
    finally:
        log.removeFilter(is_told)


def _steps(watch: _Watch, trainer: DefaultTrainer) -> Iterator[Part]:
    first, *others = watch.steps
    batch = "x".join(map(str, watch.batch_shape))
    yield Part("first step", first, f"batch {batch}, the start of the loader included")
    if others:
        yield Part("step", statistics.fmean(others), f"mean of {counted(len(others), 'step')}")


def _evaluations(watch: _Watch, sets: list[SmallSet]) -> Iterator[Part]:
    sizes = {one.evaluator.name: one for one in sets}
    for name, seconds in watch.evaluations.items():
        size = sizes.get(name)
        told = f"{size.num_images} of {size.num_whole} images" if size else "all sets as one"
        yield Part(f"evaluation of {name}", seconds, told)


def _saved(trainer: DefaultTrainer) -> Iterator[Part]:
    """Save a checkpoint and read it back; read the exported weights back."""
    since = time.perf_counter()
    state = trainer.state_dict()
    if not trainer.processes.is_first:
        return
    path = trainer.folder.checkpoints.save(state, trainer.iter)
    saved = time.perf_counter()
    different = find_difference(
        state, {k: v for k, v in load_checkpoint(path).items() if k != "format"}
    )
    if different is not None:
        raise CheckpointError(
            f"a checkpoint that was just saved differs at {different!r} from the state of the run; "
            "a hook's state_dict may return something that cannot be saved as it is"
        )
    yield Part("checkpoint", saved - since, f"{_size(path.stat().st_size)}, read back and equal")
    weights = trainer.folder.path / "weights" / "last.safetensors"
    if not weights.is_file():
        return
    since = time.perf_counter()
    read, own = load_model(trainer.config, weights).state_dict(), trainer.eval_model.state_dict()
    different = find_difference(read, {name: own.get(name) for name in read})
    if different is not None:
        raise CheckpointError(
            f"exported weights that were just written differ at {different!r} from the model"
        )
    told = f"{_size(weights.stat().st_size)}, loaded into a model for evaluation and equal"
    yield Part("weights", time.perf_counter() - since, told)


def _estimate(
    trainer: DefaultTrainer, watch: _Watch, sets: list[SmallSet], *, num_steps: int
) -> Estimate:
    seconds = watch.steps[1:] or watch.steps
    evaluation = sum(
        watch.evaluations.get(one.evaluator.name, 0.0) * one.num_whole / one.num_images
        for one in sets
    )
    return Estimate(
        num_steps=num_steps,
        step_seconds=statistics.fmean(seconds),
        from_steps=len(seconds),
        num_evaluations=_num_evaluations(trainer, num_steps) if sets else 0,
        evaluation_seconds=evaluation,
        from_images=sum(one.num_images for one in sets),
    )


def _num_evaluations(trainer: DefaultTrainer, num_steps: int) -> int:
    config = trainer.config
    length, last = len(trainer.data_loader), config.train.epochs
    first = last - -(-num_steps // length)
    due = sum(
        (epoch + 1) % config.evaluate.every == 0 or epoch + 1 == last
        for epoch in range(first, last)
    )
    return due + (config.evaluate.at_start and trainer.start_iter == 0)


def _peak_memory(device: torch.device) -> tuple[int | None, str]:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device), f"of {device}"
    try:
        import resource
    except ImportError:  # on Windows
        return None, ""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024), "of this process, without workers"


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _size(num_bytes: int) -> str:
    return f"{num_bytes / 2**20:.1f} MiB"
