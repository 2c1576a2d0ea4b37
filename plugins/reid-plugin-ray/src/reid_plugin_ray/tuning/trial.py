"""One trial: a run in a folder of its own, in a worker process of Ray."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reid_core.checkpoint.atomic import write_text_atomically
from reid_core.errors import TrainingError
from reid_plugin_ray.cluster import enter
from reid_plugin_ray.tuning.folders import error_file, run_folder
from reid_plugin_ray.tuning.trial_config import config_with

if TYPE_CHECKING:
    from reid_core.config import Config

_HOOK = "reid-plugin-ray/ray_tune"


@dataclass(frozen=True)
class TrialJob:
    """What all trials of a sweep have in common.

    Args:
        config: The resolved base configuration, as plain types.
        output: Full path of the sweep's folder, which every machine sees.
        gpus: GPUs a trial.
        folder: Full path of the folder that relative paths start from.
        plugin_files: Full paths of Python files to run first.
    """

    config: Mapping[str, object]
    output: str
    folder: str
    gpus: float
    plugin_files: tuple[str, ...]


def trainable(job: TrialJob) -> Callable[[dict[str, object]], None]:
    """Return the function that Ray calls with the settings of a trial.

    Args:
        job: What all trials have in common.
    """

    def trial(values: dict[str, object]) -> None:
        run_trial(values, job)

    return trial


def run_trial(values: Mapping[str, object], job: TrialJob) -> None:
    """Train with the settings of a trial, or go on where its process died.

    What failed by itself is not tried again: it would fail again.

    Args:
        values: Setting by dotted path.
        job: What all trials have in common.

    Raises:
        TrainingError: It failed, now or before.
        Exception: What ended the run.
    """
    from ray import tune

    enter(job.folder)
    run = run_folder(Path(job.output), tune.get_context().get_trial_id())
    note = error_file(run)
    if note.exists():
        raise TrainingError(note.read_text(encoding="utf-8"))
    try:
        _train(trial_config(values, job, run), job)
    except Exception as error:
        write_text_atomically(note, _told(error))
        raise


def trial_config(values: Mapping[str, object], job: TrialJob, run: Path) -> Config:
    """Return the configuration of a trial.

    Args:
        values: Setting by dotted path.
        job: What all trials have in common.
        run: The trial's run folder.
    """
    from reid_core.config.components import HookConfig

    config = config_with(job.config, values, source=f"the sweep of {job.output}")
    added = [] if any(h.name == _HOOK for h in config.hooks) else [HookConfig(name=_HOOK)]
    # Ray hides the GPUs from a worker that asked for none, but not those of every maker.
    device = "cpu" if config.device == "auto" and job.gpus == 0 else config.device
    return config.model_copy(
        update={"output": str(run), "device": device, "hooks": [*config.hooks, *added]}
    )


def _train(config: Config, job: TrialJob) -> None:
    from reid_core.cli.common import load_plugin_files
    from reid_core.cli.train.request import TrainRequest
    from reid_core.cli.train.run import train

    load_plugin_files(job.plugin_files)
    train(TrainRequest(config, resume="auto"))


def _told(error: Exception) -> str:
    notes = [f"  {note}" for note in getattr(error, "__notes__", ())]
    return "\n".join([f"{type(error).__name__}: {error}", *notes])
