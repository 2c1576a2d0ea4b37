"""Where the parts of a sweep lie in its folder."""

from __future__ import annotations

from pathlib import Path

#: Folder of Ray's own files.
RAY = "ray"


def run_folder(output: Path, trial_id: str) -> Path:
    """Return the run folder of a trial.

    Args:
        output: Folder of the sweep.
        trial_id: Ray's name of the trial: a prefix of the sweep and the trial's number.
    """
    return output / "runs" / f"trial_{trial_id.rpartition('_')[2]}"


def error_file(run: Path) -> Path:
    """Return the file that says why a trial failed."""
    return run / "trial_error.txt"
