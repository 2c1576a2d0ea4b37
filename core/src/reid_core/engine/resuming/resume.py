"""Which checkpoint a run goes on from, and in which folder."""

from __future__ import annotations

from pathlib import Path

from reid_core.checkpoint.folder import load_checkpoint
from reid_core.config import Config
from reid_core.engine.record.run_folder import RunFolder, find_latest_run
from reid_core.errors import CheckpointError


def find_checkpoint(
    resume: str | Path | None, folder: RunFolder
) -> tuple[Path, dict[str, object]] | None:
    """Load the checkpoint that training shall go on from.

    Args:
        resume: None for none; ``"auto"`` for the newest of ``folder``; or the path of a checkpoint
            or of another run folder.
        folder: The run folder of this training.

    Returns:
        Its path and state; None to start anew, as ``"auto"`` and the folder of this training itself
        do before their first checkpoint.

    Raises:
        CheckpointError: The path names nothing that can be resumed.
    """
    if resume is None:
        return None
    if resume == "auto":
        return folder.checkpoints.load_latest()
    path = Path(resume).expanduser()
    if not path.is_dir():
        return path, load_checkpoint(path)
    found = RunFolder(path).checkpoints.load_latest()
    is_own = path.resolve() == folder.path.resolve() and folder.holds_a_run()
    if found is None and not is_own:
        raise CheckpointError(
            f"there is no checkpoint in {path} to resume from (looked for "
            f"{path / 'checkpoints' / 'step_*.pt'}); leave --resume out to start anew"
        )
    return found


def run_of(resume: str) -> Path:
    """Return the run folder that a path to resume from lies in: itself, or two folders above."""
    path = Path(resume).expanduser()
    return path if path.is_dir() else path.parent.parent


def folder_to_resume(config: Config, resume: str | None) -> RunFolder:
    """Return the run folder that training with ``resume`` shall write to.

    Args:
        config: The configuration.
        resume: As in :meth:`DefaultTrainer.resume_or_load`.
    """
    if resume is None or config.output is not None:
        return RunFolder.for_config(config)
    run = find_latest_run(config) if resume == "auto" else run_of(resume)
    if run is not None and RunFolder(run).holds_a_run():
        return RunFolder(run)
    return RunFolder.for_config(config)
