"""A sweep from start to end, or from where it was interrupted."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from reid_core.errors import UsageError
from reid_plugin_ray.tuning.draws import param_space, scheduler_of
from reid_plugin_ray.tuning.folders import RAY
from reid_plugin_ray.tuning.request import SweepRequest
from reid_plugin_ray.tuning.trial import TrialJob, trainable

if TYPE_CHECKING:
    from ray.tune import ResultGrid, Tuner
    from ray.tune.experiment import Trial

log = logging.getLogger("reid_plugin_ray")


@dataclass
class _Interruption:
    signum: int | None = field(default=None)


@dataclass(frozen=True)
class SweepEnd:
    """How a sweep ended.

    Args:
        results: Ray's results, one a trial.
        signum: The signal that interrupted it; None where all trials are done.
    """

    results: ResultGrid
    signum: int | None


def run_sweep(request: SweepRequest, output: Path, *, resume: bool, retry: bool) -> SweepEnd:
    """Run all trials of a sweep; one that fails does not end it.

    Needs a connection to Ray.

    Args:
        request: The sweep.
        output: Full path of its folder, which every machine of the cluster sees.
        resume: Whether it was begun before.
        retry: Whether trials that failed are tried again.

    Raises:
        UsageError: There is nothing to go on with.
    """
    tuner = _restored(request, output, retry=retry) if resume else _new(request, output)
    with _interruptible() as interruption:
        results = tuner.fit()
    return SweepEnd(results, interruption.signum)


def _new(request: SweepRequest, output: Path) -> Tuner:
    from ray import tune
    from ray.tune.search.basic_variant import BasicVariantGenerator

    from reid_plugin_ray.tuning.progress import Progress

    return tune.Tuner(
        _trial(request, output),
        param_space=param_space(request.distributions),
        tune_config=tune.TuneConfig(
            metric=request.metric,
            mode=request.mode,
            num_samples=request.samples,
            search_alg=BasicVariantGenerator(
                random_state=request.seed, max_concurrent=request.concurrent or 0
            ),
            scheduler=scheduler_of(request),
            trial_dirname_creator=_dirname,
        ),
        run_config=tune.RunConfig(
            name=RAY,
            storage_path=str(output),
            failure_config=tune.FailureConfig(max_failures=request.restarts),
            callbacks=[Progress(request.metric, str(output))],
            verbose=0,
        ),
    )


def _restored(request: SweepRequest, output: Path, *, retry: bool) -> Tuner:
    from ray import tune

    path = str(output / RAY)
    if not tune.Tuner.can_restore(path):
        raise UsageError(
            f"--resume: no trial of the sweep in {output} was begun; start it anew in another "
            "folder"
        )
    return tune.Tuner.restore(
        path,
        trainable=_trial(request, output),
        resume_unfinished=True,
        resume_errored=retry,
    )


def _trial(request: SweepRequest, output: Path) -> Callable[..., object]:
    from ray import tune

    job = TrialJob(
        config=request.config,
        output=str(output),
        folder=request.folder,
        gpus=request.gpus,
        plugin_files=request.plugin_files,
    )
    with_room: Callable[..., object] = tune.with_resources(
        trainable(job), {"cpu": request.cpus, "gpu": request.gpus}
    )
    return with_room


def _dirname(trial: Trial) -> str:
    return str(trial.trial_id)


@contextmanager
def _interruptible() -> Iterator[_Interruption]:
    """Let Ctrl-C and SIGTERM end the sweep after saving where it stands; note which it was."""
    interruption = _Interruption()
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGUSR1"):
        yield interruption
        return

    def handle(signum: int, frame: FrameType | None) -> None:
        if interruption.signum is not None:
            raise KeyboardInterrupt
        interruption.signum = signum
        # Ray leaves its loop on this one, and saves.
        signal.raise_signal(signal.SIGUSR1)

    before = {one: signal.signal(one, handle) for one in (signal.SIGINT, signal.SIGTERM)}
    usual = signal.getsignal(signal.SIGUSR1)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGUSR1, usual)
        for one, handler in before.items():
            signal.signal(one, handler)
