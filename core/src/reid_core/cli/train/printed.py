"""What ``reid-train`` prints at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reid_core.wording import counted

if TYPE_CHECKING:
    from reid_core.engine import DefaultTrainer
    from reid_core.engine.results import Evaluation


def print_results(trainer: DefaultTrainer) -> None:
    """Print the figures, and where the run is."""
    path = trainer.folder.path.resolve()
    # Plain figures and those after re-ranking are two series, not one that jumps.
    series: dict[tuple[str, tuple[str, ...]], list[Evaluation]] = {}
    for evaluation in trainer.results.evaluations:
        key = evaluation.dataset, tuple(evaluation.postprocessing)
        series.setdefault(key, []).append(evaluation)
    for evaluations in series.values():
        first, last = evaluations[0], evaluations[-1]
        click.echo(f"result  {last.line()}")
        if first is not last:
            click.echo(
                f"mAP     {first.metrics['mAP']:.1%} after {counted(first.step, 'step')} -> "
                f"{last.metrics['mAP']:.1%} after {counted(last.step, 'step')}"
            )
    click.echo(f"run     {path}")
    report = path / "report.html"
    if report.is_file():
        click.echo(f"report  {report}")
