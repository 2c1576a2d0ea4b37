"""What a command line of ``reid-train`` is checked for before data is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reid_core.cli.train.request import TrainRequest
from reid_core.config import Config
from reid_core.paths import require_writable

if TYPE_CHECKING:
    from reid_core.engine.record.run_folder import RunFolder


def settled_before_data(
    request: TrainRequest, resume: str | None, folder: RunFolder, *, needs_output: bool = True
) -> Config:
    """Return the configuration that a run goes by, with all checked that needs no data.

    Args:
        request: What is asked for.
        resume: What is gone on with; None starts anew.
        folder: The run folder.
        needs_output: Whether the folder will be written.

    Raises:
        UsageError: The folder of a new run is taken, the folder cannot be written, or a changed
            configuration needs a decision.
        CheckpointError: There is nothing at ``resume`` or ``train.init_from``.
        PluginError: A component is not the one that the resumed run was made with.
    """
    from reid_core.engine.record.provenance import require_components_of_run
    from reid_core.engine.resuming.changes import settled_config
    from reid_core.engine.resuming.init_from import read_initial_weights

    if needs_output and resume is None:
        folder.require_unused()
    elif needs_output:
        require_writable(folder.path)
    if resume is None and request.config.train.init_from is not None:
        read_initial_weights(request.config.train.init_from)
    config = settled_config(request.config, resume, folder, request.changes)
    require_components_of_run(config, resume, folder)
    return config
