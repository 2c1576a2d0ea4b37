"""``reid-train``: train a recipe, go on with a run, or check a config."""

from __future__ import annotations

from typing import Literal

import click

from reid_core.cli.common import (
    CONTEXT,
    config_option,
    device_option,
    load_plugin_files,
    no_plugins_option,
    plugin_file_option,
    refuse_extra_arguments,
    reports_errors,
    set_option,
    with_no_plugins,
)
from reid_core.cli.train.check import check as check_run
from reid_core.cli.train.config import read_config, resolved_text
from reid_core.cli.train.dry_run import dry_run as try_out
from reid_core.cli.train.evaluate import evaluate
from reid_core.cli.train.find_lr import find_lr as find_learning_rate
from reid_core.cli.train.modes import require_one_mode
from reid_core.cli.train.reproduce import reproduce as reproduce_run
from reid_core.cli.train.request import TrainRequest
from reid_core.cli.train.run import train


@click.command(context_settings={**CONTEXT, "allow_extra_args": True})
@config_option
@set_option
@click.option(
    "--resume",
    metavar="[auto|PATH]",
    is_flag=False,
    flag_value="auto",
    help="Go on with a run: from the newest checkpoint of the run folder (auto, or no value), or "
    "from a checkpoint file or another run folder.",
)
@click.option(
    "--changes",
    type=click.Choice(["use", "drop"]),
    help="With --resume, when the configuration has changed: use what it says now, or drop the "
    "changes and go on with the run's own.",
)
@click.option(
    "--init-from",
    metavar="PATH",
    help="Begin with the weights of a run, a checkpoint or a weights file; the same as "
    "train.init_from=PATH.",
)
@click.option(
    "--reproduce",
    metavar="RUN",
    help="Do what a run folder says again, in a new folder, and say whether it came out the same.",
)
@click.option(
    "--print-config",
    is_flag=True,
    help="Print the configuration that would be run, each value with the place it was written in, "
    "and stop.",
)
@click.option("--check", is_flag=True, help="Do everything up to the first step, then stop.")
@plugin_file_option
@no_plugins_option
@click.option("--trace-hooks", is_flag=True, help="Log each call of a hook, with its time.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="One batch of everything: a training step, an evaluation, a checkpoint; keep nothing.",
)
@click.option(
    "--overfit-batches",
    type=click.IntRange(min=1),
    metavar="N",
    help="Train on the first N batches again and again; the same as train.overfit_batches=N.",
)
@click.option(
    "--limit-train-batches",
    type=click.IntRange(min=1),
    metavar="N",
    help="N batches an epoch at most; the same as train.limit_batches=N.",
)
@click.option("--find-lr", is_flag=True, help="Try learning rates, plot the loss, suggest one.")
@click.option("--profile", is_flag=True, help="Measure where the time of a few steps goes.")
@click.option("--eval-only", is_flag=True, help="Evaluate and do not train.")
@device_option
@click.option("-o", "--output", metavar="DIR", help="Run folder; a used one is never overwritten.")
@click.option("-v", "--verbose", is_flag=True, help="Show debug lines.")
@click.version_option(package_name="reid-core")
@reports_errors
def main(
    config_name: str | None,
    overrides: tuple[str, ...],
    resume: str | None,
    changes: Literal["use", "drop"] | None,
    init_from: str | None,
    reproduce: str | None,
    print_config: bool,
    check: bool,
    plugin_files: tuple[str, ...],
    no_plugins: bool,
    trace_hooks: bool,
    dry_run: bool,
    overfit_batches: int | None,
    limit_train_batches: int | None,
    find_lr: bool,
    profile: bool,
    eval_only: bool,
    device: str | None,
    output: str | None,
    verbose: bool,
) -> int:
    """Train a re-identification model from a recipe.

    \b
    reid-train --config osnet/osnet_x0_25
    reid-train --config my.yaml --set train.epochs=60 --output runs/mine
    reid-train --config my.yaml --output runs/mine --resume
    """  # noqa: D301
    refuse_extra_arguments(click.get_current_context().args)
    require_one_mode(
        {
            "--print-config": print_config,
            "--check": check,
            "--dry-run": dry_run,
            "--find-lr": find_lr,
            "--eval-only": eval_only,
        },
        beside_training={"--profile": profile, "--trace-hooks": trace_hooks},
    )
    if reproduce is not None:
        return reproduce_run(reproduce, click.get_current_context())
    load_plugin_files(plugin_files)
    settings = {
        "device": device,
        "train.init_from": init_from,
        "train.overfit_batches": overfit_batches,
        "train.limit_batches": limit_train_batches,
    }
    request = TrainRequest(
        config=read_config(
            config_name, with_no_plugins(overrides, no_plugins), settings, resume, output
        ),
        resume=resume,
        changes=changes,
        verbose=verbose,
        trace_hooks=trace_hooks,
        profile=profile,
    )
    if print_config:
        click.echo(resolved_text(request.config, config_name, output), nl=False)
        return 0
    if eval_only:
        return evaluate(request)
    if check:
        return check_run(request)
    if dry_run:
        return try_out(request)
    if find_lr:
        return find_learning_rate(request)
    return train(request)
