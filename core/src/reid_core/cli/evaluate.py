"""``reid-eval``: evaluate a checkpoint or a weights file."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import click

from reid_core.cli.common import (
    CONTEXT,
    config_option,
    device_option,
    load_plugin_files,
    no_plugins_option,
    plugin_file_option,
    reports_errors,
    set_option,
    with_no_plugins,
)
from reid_core.config import Config, load_config
from reid_core.logs import logging_to


@click.command(context_settings=CONTEXT)
@click.option(
    "--checkpoint",
    metavar="PATH",
    required=True,
    help="A run folder (its best weights), a checkpoint, or a .safetensors file of a run. Other "
    "weights need --config too.",
)
@config_option
@set_option
@device_option
@plugin_file_option
@no_plugins_option
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.version_option(package_name="reid-core")
@reports_errors
def main(
    checkpoint: str,
    config_name: str | None,
    overrides: tuple[str, ...],
    device: str | None,
    plugin_files: tuple[str, ...],
    no_plugins: bool,
    as_json: bool,
) -> int:
    """Evaluate a trained model on the test sets of its config, or of another one.

    \b
    reid-eval --checkpoint runs/mine
    reid-eval --checkpoint runs/mine --set 'data.test={name: market1501, root: other}'
    """  # noqa: D301
    load_plugin_files(plugin_files)
    from reid_core.engine.evaluate import evaluate_model, load_model
    from reid_core.engine.provenance import require_components_of_weights
    from reid_core.engine.weights_info import WeightsInfo, find_weights

    extra = [f"device={device}"] if device else []
    with logging_to():
        path = find_weights(Path(checkpoint))
        settings = with_no_plugins([*overrides, *extra], no_plugins)
        config = _config(path, config_name, settings)
        require_components_of_weights(config, path)
        model = load_model(config, path)
        evaluations = evaluate_model(config, model, WeightsInfo.of(path))
    if as_json:
        plain = [dataclasses.asdict(evaluation) for evaluation in evaluations]
        click.echo(json.dumps({"schema": 1, "weights": str(path), "evaluations": plain}, indent=2))
    else:
        for evaluation in evaluations:
            click.echo(evaluation.line())
    return 0


def _config(path: Path, name: str | None, overrides: list[str]) -> Config:
    from reid_core.engine.evaluate import config_of_weights

    return load_config(name, overrides) if name else config_of_weights(path, overrides)
