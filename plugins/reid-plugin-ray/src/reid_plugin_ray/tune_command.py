"""``reid-ray tune``: try settings, find the best."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from click.core import ParameterSource

from reid_core.cli.common import (
    CONTEXT,
    config_option,
    load_plugin_files,
    plugin_file_option,
    reports_errors,
    set_option,
)
from reid_core.errors import UsageError
from reid_core.paths import require_writable
from reid_plugin_ray.options import address_option

if TYPE_CHECKING:
    from reid_plugin_ray.tuning.request import SweepRequest
    from reid_plugin_ray.tuning.sweep import SweepEnd

#: What may be said when a sweep is gone on with; the rest is kept in its folder.
_WITH_RESUME = ("resume", "output", "address", "retry_failed")


@dataclass(frozen=True)
class TuneOptions:
    """The options of a new sweep; names are those of the command line."""

    config_name: str | None
    overrides: tuple[str, ...]
    space: Path | None
    metric: str
    mode: Literal["max", "min"]
    samples: int
    scheduler: Literal["asha", "none"]
    grace: int | None
    concurrent: int | None
    cpus: float | None
    gpus: float
    restarts: int
    seed: int
    plugin_files: tuple[str, ...]


@click.command("tune", context_settings=CONTEXT)
@config_option
@set_option
@click.option(
    "--space",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="What is tried: a YAML file of settings and distributions.",
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder of the sweep, which every machine sees.",
)
@click.option(
    "--metric",
    type=click.Choice(["mAP", "mINP", "rank1", "rank5", "rank10", "loss"]),
    default="mAP",
    show_default=True,
    help="What trials are compared by: a metric of the first test set, or the training loss.",
)
@click.option(
    "--mode",
    type=click.Choice(["max", "min"]),
    default="max",
    show_default=True,
    help="Whether more or less of it is better.",
)
@click.option(
    "--samples",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Draws; each runs every combination of the grids.",
)
@click.option(
    "--scheduler",
    type=click.Choice(["asha", "none"]),
    default="asha",
    show_default=True,
    help="asha ends trials early that are worse than others were at the same epoch.",
)
@click.option(
    "--grace",
    metavar="N",
    type=click.IntRange(min=1),
    help="Epochs before asha ends any trial; by default up to the first evaluation.",
)
@click.option(
    "--concurrent",
    metavar="N",
    type=click.IntRange(min=1),
    help="Trials at a time; by default as many as there is room for.",
)
@click.option(
    "--cpus",
    metavar="N",
    type=click.FloatRange(min=0, min_open=True),
    help="CPUs a trial; by default one for it and one for each of data.workers.",
)
@click.option(
    "--gpus",
    metavar="F",
    type=click.FloatRange(min=0),
    default=0,
    show_default=True,
    help="GPUs a trial; 0.5 lets two share one. With 0 device: auto is the CPU.",
)
@click.option(
    "--restarts",
    metavar="N",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="How often a trial whose process died goes on from its checkpoint.",
)
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the draws; a trial's own seed is the setting seed.",
)
@plugin_file_option
@click.option("--resume", is_flag=True, help="Go on with the sweep of --output.")
@click.option(
    "--retry-failed", is_flag=True, help="With --resume: try the trials again that failed."
)
@address_option
@reports_errors
def tune_command(
    output: Path,
    resume: bool,
    retry_failed: bool,
    address: str,
    **options: object,
) -> int:
    """Train with settings drawn from a space, and find the best.

    Each trial is a run with a folder of its own. A trial that fails does not end the sweep. Writes
    tune.json and best.yaml, a recipe with the best settings.

    \b
    reid-ray tune --config osnet/osnet_x0_25 --space space.yaml --output sweeps/lr
    reid-ray tune --resume --output sweeps/lr
    """  # noqa: D301
    if retry_failed and not resume:
        raise UsageError("--retry-failed belongs to --resume")
    if resume:
        _require_kept(click.get_current_context())
    given = TuneOptions(**options)  # type: ignore[arg-type]
    load_plugin_files(given.plugin_files)
    return tune(given, output.expanduser().absolute(), resume, retry_failed, address)


def tune(options: TuneOptions, output: Path, resume: bool, retry: bool, address: str) -> int:
    """Run a sweep, or go on with one; return the exit code."""
    from reid_core.logs import logging_to
    from reid_plugin_ray.cluster import connected, require_room
    from reid_plugin_ray.tuning.folders import error_file
    from reid_plugin_ray.tuning.request import SweepRequest
    from reid_plugin_ray.tuning.sweep import run_sweep

    request = SweepRequest.read(output) if resume else new_request(options, output)
    if resume:
        load_plugin_files(request.plugin_files)
    with logging_to(), connected(address):
        if not request.cpus:
            request = replace(request, cpus=_default_cpus(request))
        require_room(cpus=request.cpus, gpus=request.gpus)
        if not resume:
            request.write(output)
        for run in sorted((output / "runs").glob("trial_*")) if retry else ():
            error_file(run).unlink(missing_ok=True)
        end = run_sweep(request, output, resume=resume, retry=retry)
        return _finish(request, output, end)


def new_request(options: TuneOptions, output: Path) -> SweepRequest:
    """Read and check everything that a new sweep needs, before anything is started.

    Raises:
        UsageError: An option is missing, or the folder is used.
        ConfigError: The recipe or the space is wrong.
    """
    from reid_core.config import load_config
    from reid_core.engine.check import check_config
    from reid_plugin_ray.tuning.request import SweepRequest, holds_sweep
    from reid_plugin_ray.tuning.space import read_space
    from reid_plugin_ray.tuning.trial_config import check_space

    if options.config_name is None or options.space is None:
        raise UsageError(
            "a new sweep needs a recipe and a space: --config osnet/osnet_x0_25 --space space.yaml"
        )
    if holds_sweep(output):
        raise UsageError(
            f"--output {output} holds a sweep already; go on with it by --resume, or choose "
            "another folder"
        )
    require_writable(output, option="--output")
    if output.is_dir() and any(output.iterdir()):
        raise UsageError(f"--output {output} is used already; choose another folder")
    if options.metric == "loss" and options.mode == "max":
        raise UsageError("--metric loss: less of it is better; add --mode min")
    config = load_config(options.config_name, options.overrides)
    space = read_space(options.space)
    check_config(config)
    if config.evaluate.every == 0:
        raise UsageError("trials are compared by their evaluations; set evaluate.every above 0")
    check_space(config, space)
    recipe = Path(options.config_name).expanduser()
    return SweepRequest(
        source=str(recipe.absolute()) if recipe.is_file() else options.config_name,
        settings=_paths(options.overrides),
        config=config.plain(),
        space=space.plain,
        metric=options.metric,
        mode=options.mode,
        samples=options.samples,
        seed=options.seed,
        scheduler=options.scheduler,
        grace=options.grace or min(config.evaluate.every, config.train.epochs),
        concurrent=options.concurrent,
        cpus=options.cpus or 0,
        gpus=options.gpus,
        folder=str(Path.cwd()),
        restarts=options.restarts,
        plugin_files=tuple(str(Path(file).absolute()) for file in options.plugin_files),
    )


def _default_cpus(request: SweepRequest) -> float:
    """Return the CPUs of a trial by its worker processes, no more than a machine has."""
    from reid_plugin_ray.cluster import machines

    most = max(node.get("CPU", 1) for node in machines())
    return float(min(1 + request.base.data.workers, most))


def _paths(overrides: tuple[str, ...]) -> tuple[str, ...]:
    from reid_core.config.shape import with_section

    keys = [text.partition("=")[0].strip() for text in overrides]
    return tuple(".".join(map(str, with_section(tuple(key.split("."))))) for key in keys)


def _require_kept(context: click.Context) -> None:
    given = [
        parameter.opts[-1]
        for parameter in context.command.params
        if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        and parameter.name not in _WITH_RESUME
    ]
    if given:
        raise UsageError(
            f"--resume goes on with the sweep as it was begun; leave out {', '.join(given)}"
        )


def _finish(request: SweepRequest, output: Path, end: SweepEnd) -> int:
    from reid_core.errors import Interrupted, TrainingError
    from reid_plugin_ray.tuning.best import write_best
    from reid_plugin_ray.tuning.printed import NOTE, print_table, write_records
    from reid_plugin_ray.tuning.records import best_of, records_of

    records = records_of(request, output, end)
    best = best_of(records, request)
    write_records(output / "tune.json", request, records, best)
    print_table(request, records)
    resume = f"reid-ray tune --resume --output {shlex.quote(str(output))}"
    if end.signum is not None:
        error = Interrupted(end.signum)
        error.add_note(f"go on with: {resume}")
        raise error
    if best is None:
        first = next((r.error.splitlines()[0] for r in records if r.error), "no trial reported")
        raise TrainingError(f"no trial of {len(records)} came to a result; the first: {first}")
    write_best(output / "best.yaml", request, best.values)
    value = best.metrics[request.metric]
    click.echo(f"best    trial {best.number}: {request.metric} {value:.4f}, run {best.run}")
    click.echo(f"recipe  {output / 'best.yaml'}")
    click.echo(f"note    {NOTE}", err=True)
    return 0
