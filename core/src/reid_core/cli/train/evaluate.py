"""``reid-train --eval-only``."""

from __future__ import annotations

from pathlib import Path

import click

from reid_core.cli.train.request import TrainRequest
from reid_core.config import Config
from reid_core.errors import UsageError
from reid_core.logs import logging_to


def evaluate(request: TrainRequest) -> int:
    """Evaluate and do not train; return the exit code."""
    config, resume = request.config, request.resume
    from reid_core.engine.evaluation.lines import lines_of
    from reid_core.engine.evaluation.measure import measure_model
    from reid_core.engine.evaluation.weights import load_model
    from reid_core.engine.record.provenance import require_components_of_weights
    from reid_core.engine.record.weights_info import WeightsInfo

    # Without --resume it is the model that a training would begin with.
    resume = resume or config.train.init_from
    with logging_to(verbose=request.verbose):
        checkpoint = None if resume is None else _checkpoint_to_evaluate(config, resume)
        if checkpoint is not None:
            require_components_of_weights(config, checkpoint)
        model = load_model(config, checkpoint)
        info = WeightsInfo.of(checkpoint) if checkpoint else None
        measured = measure_model(config, model, info)
    for evaluation, result in measured.with_results():
        for line in lines_of(evaluation, result, None):
            click.echo(line)
    return 0


def _checkpoint_to_evaluate(config: Config, resume: str) -> Path:
    from reid_core.engine.record.run_folder import find_latest_run
    from reid_core.engine.record.weights_info import find_weights

    if resume != "auto":
        return find_weights(Path(resume))
    run = find_latest_run(config)
    if run is None:
        raise UsageError("--resume auto: there is no run with a checkpoint; name one by its path")
    return find_weights(run)
