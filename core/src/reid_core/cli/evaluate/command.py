"""The options of ``reid-eval``, and what is done in which order."""

from __future__ import annotations

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
from reid_core.cli.evaluate.compare import CompareRequest, compare
from reid_core.cli.evaluate.gate import MISSED, Minimum, Verdict, judge
from reid_core.cli.evaluate.request import (
    EnsembleHow,
    Request,
    refuse_arguments,
    require_alone,
    settings_of,
)
from reid_core.errors import ReidError, UsageError
from reid_core.logs import logging_to

#: Gallery entries a query in --save-ranks.
TOPK = 20

_FILE = click.Path(path_type=Path)


@click.command(context_settings={**CONTEXT, "allow_extra_args": True})
@click.option(
    "--checkpoint",
    "checkpoints",
    metavar="PATH",
    multiple=True,
    help="A run folder (its best weights), a checkpoint, or a .safetensors file of a run. Other "
    "weights need --config too. Repeatable, with --ensemble.",
)
@click.option(
    "--ensemble",
    metavar="HOW",
    type=click.Choice(["concat", "mean"]),
    help="How the embeddings of several checkpoints are put together: concat, mean.",
)
@click.option(
    "--embeddings",
    metavar="FILE",
    type=_FILE,
    help="Embeddings of any tool instead of weights: an .npz or .parquet file.",
)
@click.option(
    "--dataset-name",
    metavar="NAME",
    help="What the test set of --embeddings is called in results (default: the file's name).",
)
@click.option(
    "--compare",
    "compared",
    metavar="RUN_A RUN_B",
    type=_FILE,
    nargs=2,
    help="Compare two runs that were evaluated: folders of runs or of --output.",
)
@config_option
@set_option
@click.option(
    "--protocol",
    metavar="NAME",
    help="The rule, instead of the config's: a name, or YAML such as "
    "'{name: sysu_mm01, mode: indoor}'.",
)
@click.option("--distance", metavar="NAME", help="cosine or euclidean, instead of the config's.")
@click.option(
    "--rerank",
    "rerankers",
    metavar="NAME",
    multiple=True,
    help="Give figures after re-ranking too: a name, or YAML such as '{name: k_reciprocal, k1: "
    "20}'. Repeatable, in order.",
)
@click.option(
    "--details/--no-details",
    "with_details",
    default=None,
    help="Intervals, ROC, failures and more (default: evaluate.details, which is on).",
)
@click.option(
    "--min",
    "minimums",
    metavar="METRIC=FRACTION",
    multiple=True,
    help="Exit with 5 where a figure of a test set is lower, e.g. --min mAP=0.8. rerank:mAP is the "
    "figure after re-ranking. Repeatable.",
)
@click.option(
    "--max",
    "maximums",
    metavar="METRIC=FRACTION",
    multiple=True,
    help="The same where an error rate is higher: eer, fnir@fpir=1e-2, fnmr@fmr=1e-3. Repeatable.",
)
@click.option(
    "--calibrate",
    metavar="CRITERION",
    help="Choose a threshold on the validation set and store it with the weights: fpr=1e-3, "
    "tpr=0.95, eer.",
)
@click.option(
    "--validation",
    metavar="DATA",
    help="What the threshold is chosen on: a table .csv or .parquet, a data set as YAML, or "
    "another file of embeddings.",
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=_FILE,
    help="New folder for results.json, details.json, ranks.json, report.html and plots.",
)
@click.option(
    "--query",
    "queries",
    metavar="NAME|ROW",
    multiple=True,
    help="A query whose ranked gallery the report shows. Repeatable.",
)
@click.option(
    "--save-embeddings", metavar="FILE", type=_FILE, help="Write an .npz or .parquet file."
)
@click.option(
    "--save-ranks",
    metavar="FILE",
    type=_FILE,
    help="Write the ranked gallery of every query, .csv or .json.",
)
@click.option(
    "--topk",
    metavar="N",
    type=int,
    help="Gallery entries a query in --save-ranks (default 20).",
)
@device_option
@plugin_file_option
@no_plugins_option
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.version_option(package_name="reid-core")
@reports_errors
def main(
    checkpoints: tuple[str, ...],
    ensemble: EnsembleHow | None,
    embeddings: Path | None,
    dataset_name: str | None,
    compared: tuple[Path, Path] | None,
    config_name: str | None,
    overrides: tuple[str, ...],
    protocol: str | None,
    distance: str | None,
    rerankers: tuple[str, ...],
    with_details: bool | None,
    minimums: tuple[str, ...],
    maximums: tuple[str, ...],
    calibrate: str | None,
    validation: str | None,
    output: Path | None,
    queries: tuple[str, ...],
    save_embeddings: Path | None,
    save_ranks: Path | None,
    topk: int | None,
    device: str | None,
    plugin_files: tuple[str, ...],
    no_plugins: bool,
    as_json: bool,
) -> int:
    """Evaluate weights or embeddings on test sets, or compare two runs.

    \b
    reid-eval --checkpoint runs/mine
    reid-eval --checkpoint runs/mine --set 'data.test={name: market1501, root: other}'
    reid-eval --embeddings features.npz --protocol market1501 --output evaluated
    reid-eval --checkpoint runs/mine --min mAP=0.8
    reid-eval --compare runs/mine runs/other
    """  # noqa: D301
    refuse_arguments(click.get_current_context().args)
    if compared is not None:
        require_alone(
            checkpoint=checkpoints,
            ensemble=ensemble,
            embeddings=embeddings,
            dataset_name=dataset_name,
            config=config_name,
            set=overrides,
            protocol=protocol,
            distance=distance,
            rerank=rerankers,
            min=minimums,
            max=maximums,
            calibrate=calibrate,
            validation=validation,
            query=queries,
            save_embeddings=save_embeddings,
            save_ranks=save_ranks,
            topk=topk is not None,
            details=with_details is not None,
            device=device,
        )
        return compare(CompareRequest(*compared, output=output, as_json=as_json))
    settings = settings_of(overrides, protocol, distance, rerankers, device)
    request = Request(
        checkpoints=checkpoints,
        embeddings=embeddings,
        dataset_name=dataset_name,
        config_name=config_name,
        overrides=(*with_no_plugins(settings, no_plugins),),
        ensemble=ensemble,
        with_details=with_details,
        calibrate=calibrate,
        validation=validation,
        minimums=(
            *map(Minimum.parse, minimums),
            *map(Minimum.parse_maximum, maximums),
        ),
        queries=queries,
        topk=TOPK if topk is None else topk,
        output=output,
        save_embeddings=save_embeddings,
        save_ranks=save_ranks,
        as_json=as_json,
    )
    request.check()
    load_plugin_files(plugin_files)
    return _evaluate(request)


def _evaluate(request: Request) -> int:
    from reid_core.cli.evaluate.measure import measure
    from reid_core.cli.evaluate.printed import json_text, text_lines
    from reid_core.cli.evaluate.written import check_names, require_writable, write_files
    from reid_core.distributed.join import joined_processes

    with logging_to(), joined_processes() as processes:
        check_names(request)
        if processes.is_first:
            require_writable(request)
        done = measure(request, processes)
        if not processes.is_first:
            return 0
        written: list[Path] = []
        failure: ReidError | None = None
        try:
            for path in write_files(request, done):
                written.append(path)
        except ReidError as error:
            # The figures cost hours, and are told before the error is.
            failure = error
    verdicts: list[Verdict] = []
    try:
        verdicts = judge(request.minimums, done.sets.evaluations, done.detail_of)
    except UsageError as error:
        failure = failure or error
    if request.as_json:
        click.echo(json_text(done, verdicts, written))
    else:
        for line in text_lines(done, verdicts, written):
            click.echo(line)
    missed = [verdict for verdict in verdicts if not verdict.is_met]
    for verdict in missed:
        click.echo(f"missed  {verdict.line()}", err=True)
    if failure is not None:
        raise failure
    return MISSED if missed else 0
