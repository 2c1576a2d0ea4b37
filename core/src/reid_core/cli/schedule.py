"""``reid-config schedule``: the learning rate of a run, before it is run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reid_core.cli.common import (
    load_plugin_files,
    no_plugins_option,
    plugin_file_option,
    reports_errors,
    set_option,
    with_no_plugins,
)
from reid_core.config import Config, load_config
from reid_core.errors import DataError
from reid_core.plugins.index import disabled_plugins

if TYPE_CHECKING:
    from reid_core.optim.preview import RatePreview


@click.command()
@click.argument("name", metavar="FILE|NAME")
@set_option
@click.option(
    "--steps-per-epoch",
    metavar="N",
    type=click.IntRange(min=1),
    help="Steps of an epoch; without it the training data is looked up.",
)
@click.option(
    "--every",
    metavar="N",
    type=click.IntRange(min=1),
    help="Epochs between two rows; without it every change, or some 20 rows.",
)
@click.option(
    "--plot",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the learning rate into a .png, .svg or .html file.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@plugin_file_option
@no_plugins_option
@reports_errors
def schedule(
    name: str,
    overrides: tuple[str, ...],
    steps_per_epoch: int | None,
    every: int | None,
    plot: Path | None,
    as_json: bool,
    plugin_files: tuple[str, ...],
    no_plugins: bool,
) -> int:
    """Print the learning rate of each step of a configuration.

    Imports the components it names; reads the lists of the training data, and no images, unless
    --steps-per-epoch says how long an epoch is.
    """
    load_plugin_files(plugin_files)
    config = load_config(name, with_no_plugins(overrides, no_plugins))
    # Imported here: the rest of this command line answers without torch.
    from reid_core.engine.check import check_config
    from reid_core.optim.preview import preview_rates, steps_of_data
    from reid_core.report.rate_plot import require_ending

    if plot is not None:
        require_ending(plot)
    check_config(config)
    with disabled_plugins(config.plugins.disable):
        try:
            steps = steps_per_epoch or steps_of_data(config)
        except DataError as error:
            raise DataError(
                f"{error}; or say how long an epoch is, by --steps-per-epoch N"
            ) from error
        preview = preview_rates(config, iters_per_epoch=steps)
    lines = _as_json(config, preview, every) if as_json else _as_text(config, preview, every)
    for line in lines:
        click.echo(line)
    if plot is not None:
        _write_plot(plot, config, preview)
        # Standard output is for the numbers.
        click.echo(f"drawn: {plot}", err=True)
    return 0


def _as_json(config: Config, preview: RatePreview, every: int | None) -> Iterator[str]:
    plain = {
        "schema": 1,
        "config": config.name,
        "schedule": config.train.schedule.name,
        "epochs": config.train.epochs,
        "steps_per_epoch": preview.iters_per_epoch,
        "points": [asdict(point) for point in preview.points(every_epochs=every)],
    }
    yield json.dumps(plain, indent=2)


def _as_text(config: Config, preview: RatePreview, every: int | None) -> Iterator[str]:
    from reid_core.report.text_plot import text_plot

    yield f"{config.name}: {_sentence(config, preview)}"
    yield from _factors(config)
    yield ""
    yield f"{'step':>8}  {'epoch':>8}  {'lr':>11}"
    for point in preview.points(every_epochs=every):
        yield f"{point.step:>8}  {point.epoch:>8.3f}  {point.lr:>11.5e}"
    yield ""
    yield from text_plot(preview.rates, x_end=f"{config.train.epochs} epochs")


def _sentence(config: Config, preview: RatePreview) -> str:
    train = config.train
    length = f"{train.epochs} epochs of {preview.iters_per_epoch} steps"
    return f"schedule {train.schedule.name}, {length}, lr {train.optimizer.lr:g}"


def _factors(config: Config) -> Iterator[str]:
    """Say of which parameters the rate is another one."""
    optimizer = config.train.optimizer
    if optimizer.bias_lr_factor != 1:
        yield f"biases: times {optimizer.bias_lr_factor:g}"
    if optimizer.head_lr_factor != 1:
        yield f"outside the backbone: times {optimizer.head_lr_factor:g}"
    if optimizer.layer_decay is not None:
        yield f"in the backbone: times {optimizer.layer_decay:g} for each layer from the last on"


def _write_plot(path: Path, config: Config, preview: RatePreview) -> None:
    from reid_core.report.rate_plot import write_rate_plot
    from reid_core.report.records import Series

    series = Series("lr", tuple(range(len(preview.rates))), preview.rates)
    per_epoch = preview.iters_per_epoch
    write_rate_plot(
        path,
        series,
        title=f"Learning rate of {config.name}",
        text=f"{_sentence(config, preview).capitalize()}.",
        epochs={epoch * per_epoch: float(epoch) for epoch in range(config.train.epochs + 1)},
    )
