"""``reid-ray embed``: embeddings of a whole data set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from reid_core.cli.common import (
    CONTEXT,
    device_option,
    load_plugin_files,
    plugin_file_option,
    reports_errors,
    set_option,
)
from reid_core.cli.data.source import SourceArguments
from reid_core.errors import UsageError
from reid_core.paths import require_writable
from reid_plugin_ray.options import address_option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reid_core.config import Config
    from reid_core.config.components import Component
    from reid_core.data.manifest import Manifest
    from reid_plugin_ray.embedding.plan import EmbedPlan

#: Images of a part, unless fewer give every worker one.
_ROWS_PER_PART = 16_384


@dataclass(frozen=True)
class EmbedOptions:
    """The options of the command; names are those of the command line."""

    weights: str
    config_name: str | None
    overrides: tuple[str, ...]
    device: str | None
    splits: tuple[Literal["train", "query", "gallery"], ...]
    batch_size: int | None
    rows_per_part: int | None
    workers: int
    cpus: float
    gpus: float


@click.command("embed", context_settings=CONTEXT)
@click.argument("source", metavar="SOURCE")
@click.option(
    "-w",
    "--weights",
    metavar="PATH",
    required=True,
    help="Run folder, checkpoint or weights file.",
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder of the Parquet files, which every machine sees.",
)
@click.option(
    "--dataset",
    metavar="NAME",
    help="Data set component that reads SOURCE; without it the path tells.",
)
@click.option(
    "--param",
    "params",
    metavar="KEY=VALUE",
    multiple=True,
    help="Parameter of the data set component; the value is YAML. Repeatable.",
)
@click.option(
    "--split",
    "splits",
    type=click.Choice(["train", "query", "gallery"]),
    multiple=True,
    help="Embed this split only. Repeatable; by default all.",
)
@click.option(
    "-c",
    "--config",
    "config_name",
    metavar="FILE|NAME",
    help="Recipe, for weights that do not say how their model is built.",
)
@set_option
@device_option
@click.option(
    "--batch-size",
    metavar="N",
    type=click.IntRange(min=1),
    help="Images a batch; the same as evaluate.batch_size=N.",
)
@click.option(
    "--rows-per-part",
    metavar="N",
    type=click.IntRange(min=1),
    help="Images a file, rounded up to whole batches; by default 16384, or fewer so that each "
    "worker has some.",
)
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processes that have the model.",
)
@click.option(
    "--cpus",
    metavar="N",
    type=click.FloatRange(min=0, min_open=True),
    default=1,
    show_default=True,
    help="CPUs a worker.",
)
@click.option(
    "--gpus",
    metavar="F",
    type=click.FloatRange(min=0),
    default=0,
    show_default=True,
    help="GPUs a worker. With 0 device: auto is the CPU.",
)
@click.option("--join", is_flag=True, help="Also write embeddings.parquet, all parts in one.")
@click.option("--resume", is_flag=True, help="Do the parts that are missing in --output.")
@plugin_file_option
@address_option
@reports_errors
def embed_command(
    source: str,
    output: Path,
    dataset: str | None,
    params: tuple[str, ...],
    join: bool,
    resume: bool,
    plugin_files: tuple[str, ...],
    address: str,
    **options: object,
) -> int:
    """Embed every image of a data set.

    SOURCE is the path of a data set, or a recipe whose one data set is meant. Writes
    part-000000.parquet and so on, in the order of the rows, with the columns that 'reid-eval
    --embeddings' reads.

    \b
    reid-ray embed my/data --weights runs/mine --output embeddings --workers 4
    reid-eval --embeddings embeddings/embeddings.parquet
    """  # noqa: D301
    from reid_plugin_ray.embedding.plan import is_used

    arguments = SourceArguments(source, dataset, params, (), plugin_files)
    given = EmbedOptions(**options)  # type: ignore[arg-type]
    output = output.expanduser().absolute()
    require_writable(output, option="--output")
    if not resume and is_used(output):
        raise UsageError(
            f"--output {output} is used already, and nothing is overwritten; choose another "
            "folder, or --resume to do what is missing"
        )
    return embed(arguments, given, output, join, resume, address)


def embed(
    arguments: SourceArguments,
    options: EmbedOptions,
    output: Path,
    join: bool,
    resume: bool,
    address: str,
) -> int:
    """Embed a data set; return the exit code."""
    from reid_core.logs import logging_to
    from reid_core.wording import counted
    from reid_plugin_ray.cluster import connected, require_room
    from reid_plugin_ray.embedding.part_file import broken_images_of, join_parts
    from reid_plugin_ray.embedding.run import embed_parts
    from reid_plugin_ray.embedding.worker import EmbedJob

    load_plugin_files(arguments.plugin_files)
    component, manifest, rows = _images(arguments, options)
    plan = _plan(arguments, options, manifest)
    if resume:
        plan.require_same(output)
    todo = plan.missing(output)
    job = EmbedJob(
        plan=plan,
        output=str(output),
        component=component.as_call(),
        folder=str(Path.cwd()),
        plugin_files=tuple(str(Path(file).absolute()) for file in arguments.plugin_files),
    )
    if todo:
        with logging_to(), connected(address):
            require_room(cpus=options.cpus, gpus=options.gpus)
            plan.write(output, state="running")
            embed_parts(
                job,
                manifest,
                rows,
                todo,
                workers=options.workers,
                cpus=options.cpus,
                gpus=options.gpus,
            )
    parts = [plan.path(output, part) for part in range(plan.num_parts)]
    broken = [image for part in parts for image in broken_images_of(part)]
    plan.write(output, state="completed", broken=broken)
    for image in broken:
        click.echo(f"broken  {image['path']}: {image['reason']}", err=True)
    click.echo(
        f"{output}: {counted(plan.num_rows - len(broken), 'image')} in "
        f"{counted(plan.num_parts, 'part')}, {len(todo)} of them made now"
    )
    if join:
        count = join_parts(parts, output / "embeddings.parquet")
        click.echo(f"{output / 'embeddings.parquet'}: {counted(count, 'image')}")
    return 0


def _images(
    arguments: SourceArguments, options: EmbedOptions
) -> tuple[Component, Manifest, NDArray[np.int64]]:
    """Read the data set, and choose the rows that are embedded."""
    import numpy as np

    from reid_core.cli.data.output import only_one
    from reid_core.cli.data.source import open_source, read_components
    from reid_core.errors import DataError

    opened = open_source(arguments)
    manifest = only_one(read_components(opened), arguments)
    chosen = np.isin(manifest.splits, options.splits or ("train", "query", "gallery"))
    rows = np.flatnonzero(chosen).astype(np.int64)
    if not len(rows):
        raise DataError(
            f"data set {manifest.name} has no images of {', '.join(options.splits)}; it has "
            f"{manifest.summary()}"
        )
    return opened.train[0], manifest.take(rows), rows


def _plan(arguments: SourceArguments, options: EmbedOptions, manifest: Manifest) -> EmbedPlan:
    from reid_core.engine.record.weights_info import find_weights
    from reid_plugin_ray.embedding.plan import EmbedPlan, file_sha256

    weights = find_weights(Path(options.weights)).absolute()
    config = _config(options, weights)
    batch_size = config.evaluate.batch_size
    wanted = options.rows_per_part or min(_ROWS_PER_PART, -(-len(manifest) // options.workers))
    return EmbedPlan(
        dataset=manifest.name,
        source=str(arguments.source),
        splits=options.splits,
        num_rows=len(manifest),
        rows_per_part=-(-wanted // batch_size) * batch_size,
        batch_size=batch_size,
        weights=str(weights),
        weights_sha256=file_sha256(weights),
        config=config.plain(),
    )


def _config(options: EmbedOptions, weights: Path) -> Config:
    from reid_core.config import load_config
    from reid_core.engine.check import check_config
    from reid_core.engine.evaluation.config import evaluation_config
    from reid_core.engine.evaluation.weights import config_of_weights
    from reid_core.engine.record.provenance import require_components_of_weights

    # A worker reads its images itself: more processes are more workers.
    settings = [*options.overrides, "data.workers=0"]
    settings += [f"evaluate.batch_size={options.batch_size}"] if options.batch_size else []
    settings += [f"device={options.device}"] if options.device else []
    if options.config_name:
        config = load_config(options.config_name, settings)
    else:
        config = config_of_weights(weights, settings)
    config = evaluation_config(config)
    check_config(config)
    require_components_of_weights(config, weights)
    if config.device.startswith("cuda") and options.gpus == 0:
        raise UsageError(
            f"device is {config.device}, and a worker gets no GPU; say how much of one by --gpus, "
            "or leave --device out"
        )
    if config.device == "auto" and options.gpus == 0:
        config = config.model_copy(update={"device": "cpu"})
    return config
