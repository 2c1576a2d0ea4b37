"""``reid-train``: train a recipe, go on with a run, or check a config."""

from __future__ import annotations

import logging
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

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
from reid_core.config import Config, load_config
from reid_core.errors import TrainingError, UsageError
from reid_core.logs import logging_to

if TYPE_CHECKING:
    from reid_core.engine import DefaultTrainer
    from reid_core.engine.results import Evaluation

log = logging.getLogger("reid_core")


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
@click.option("--check", is_flag=True, help="Do everything up to the first step, then stop.")
@plugin_file_option
@no_plugins_option
@click.option("--trace-hooks", is_flag=True, help="Log each call of a hook, with its time.")
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
    check: bool,
    plugin_files: tuple[str, ...],
    no_plugins: bool,
    trace_hooks: bool,
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
    load_plugin_files(plugin_files)
    overrides = (*with_no_plugins(overrides, no_plugins),)
    config = _config(config_name, overrides, resume, device, output)
    if eval_only:
        return _evaluate(config, resume, verbose)
    if check:
        return _check(config, resume, verbose)
    return _train(config, resume, verbose, trace_hooks)


def _config(
    name: str | None,
    overrides: tuple[str, ...],
    resume: str | None,
    device: str | None,
    output: str | None,
) -> Config:
    if name is None:
        name = _config_of_run(resume)
        # The run may have been moved since it was started: it goes on where it is now.
        output = output or str(Path(name).parent)
    extra = [f"device={device}"] if device else []
    config = load_config(name, [*overrides, *extra])
    # Not through YAML: a folder may have any name.
    return config if output is None else config.with_output(output)


def _config_of_run(resume: str | None) -> str:
    """Without --config, a run is resumed with the config it was started with."""
    if resume is None or resume == "auto":
        raise UsageError(
            "--config is missing; name a recipe, for example --config osnet/osnet_x0_25 "
            "('reid-config list' shows the installed ones)"
        )
    from reid_core.engine.resume import run_of

    if not Path(resume).expanduser().exists():
        raise UsageError(f"--resume {resume}: there is no such run folder or checkpoint")
    saved = run_of(resume) / "config.yaml"
    if not saved.is_file():
        raise UsageError(f"--resume {resume}: there is no {saved}; name the recipe by --config")
    return str(saved)


def _train(config: Config, resume: str | None, verbose: bool, trace_hooks: bool) -> int:
    from reid_core.engine.default_trainer import DefaultTrainer
    from reid_core.engine.outcome import Interrupted
    from reid_core.engine.provenance import require_components_of_run
    from reid_core.engine.resume import folder_to_resume
    from reid_core.engine.signals import graceful_signals

    folder = folder_to_resume(config, resume)
    if resume is None:
        folder.require_unused()
    with logging_to(verbose=verbose) as log_file:
        require_components_of_run(config, resume, folder)
        trainer = DefaultTrainer(config, folder)
        trainer.resume_or_load(resume)
        # Only now: a config that cannot work leaves no folder behind.
        trainer.claim_folder()
        log_file.open(folder.path / "train.log")
        trace = trainer.hooks.trace() if trace_hooks else None
        try:
            with graceful_signals(trainer):
                trainer.train()
        except SystemExit as error:
            # Its own code would tell a scheduler that all went well.
            raise _ended_by_exit(error) from error
        except Interrupted as error:
            error.add_note(f"go on with: reid-train --resume {shlex.quote(str(folder.path))}")
            raise
        finally:
            for line in trace.summary() if trace else ():
                log.info("%s", line)
    _print_results(trainer)
    return 0


def _ended_by_exit(error: SystemExit) -> TrainingError:
    failure = TrainingError(
        f"training was ended by sys.exit({error.code!r}); an exception, or a reason given in "
        "should_stop, would say why"
    )
    for note in getattr(error, "__notes__", ()):
        failure.add_note(note)
    return failure


def _check(config: Config, resume: str | None, verbose: bool) -> int:
    from reid_core.engine.default_trainer import DefaultTrainer
    from reid_core.engine.preflight import check_first_batch, check_images
    from reid_core.engine.provenance import require_components_of_run
    from reid_core.engine.resume import folder_to_resume

    with logging_to(verbose=verbose):
        folder = folder_to_resume(config, resume)
        require_components_of_run(config, resume, folder)
        trainer = DefaultTrainer(config, folder)
        trainer.resume_or_load(resume)
        check_images(trainer)
        check_first_batch(trainer)
    click.echo(
        f"ok: {trainer.max_iter} steps in {trainer.max_epoch} epochs on {trainer.device}, "
        f"{len(trainer.components)} components, nothing was written"
    )
    return 0


def _evaluate(config: Config, resume: str | None, verbose: bool) -> int:
    from reid_core.engine.evaluation.lines import lines_of
    from reid_core.engine.evaluation.measure import measure_model
    from reid_core.engine.evaluation.weights import load_model
    from reid_core.engine.provenance import require_components_of_weights
    from reid_core.engine.weights_info import WeightsInfo

    with logging_to(verbose=verbose):
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
    from reid_core.engine.run_folder import find_latest_run
    from reid_core.engine.weights_info import find_weights

    if resume != "auto":
        return find_weights(Path(resume))
    run = find_latest_run(config)
    if run is None:
        raise UsageError("--resume auto: there is no run with a checkpoint; name one by its path")
    return find_weights(run)


def _print_results(trainer: DefaultTrainer) -> None:
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
                f"mAP     {first.metrics['mAP']:.1%} after {first.step} steps -> "
                f"{last.metrics['mAP']:.1%} after {last.step} steps"
            )
    click.echo(f"run     {path}")
    report = path / "report.html"
    if report.is_file():
        click.echo(f"report  {report}")
