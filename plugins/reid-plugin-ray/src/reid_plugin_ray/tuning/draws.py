"""A space in the terms of Ray Tune."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from reid_plugin_ray.tuning.request import SweepRequest
from reid_plugin_ray.tuning.space import Space

if TYPE_CHECKING:
    from ray.tune.schedulers import TrialScheduler


def param_space(space: Space) -> dict[str, object]:
    """Return the space as ``tune.Tuner`` takes it, by dotted path.

    Args:
        space: What is tried.
    """
    from ray import tune

    made: Mapping[str, Callable[..., object]] = {
        "choice": lambda *values: tune.choice(list(values)),
        "grid": lambda *values: tune.grid_search(list(values)),
        "uniform": tune.uniform,
        "loguniform": tune.loguniform,
        "randint": tune.randint,
    }
    return {one.path: made[one.kind](*one.values) for one in space.distributions}


def scheduler_of(request: SweepRequest) -> TrialScheduler:
    """Return what decides which trials end early, by the epochs that they have done.

    Args:
        request: The sweep.
    """
    from ray.tune.schedulers import ASHAScheduler, FIFOScheduler

    if request.scheduler == "none":
        return FIFOScheduler()  # type: ignore[no-untyped-call]
    epochs = request.base.train.epochs
    return ASHAScheduler(
        time_attr="epoch",
        grace_period=request.grace,
        max_t=max(epochs, request.grace),
        # Ended by Ray, the last trials would miss their report and last checkpoint.
        stop_last_trials=False,
    )
