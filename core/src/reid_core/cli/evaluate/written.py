"""The files that ``reid-eval`` writes."""

from __future__ import annotations

import importlib.util
import json
import logging
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from reid_core.cli.evaluate.printed import without_nan
from reid_core.cli.evaluate.request import Request
from reid_core.errors import DataError, UsageError

if TYPE_CHECKING:
    from reid_core.cli.evaluate.measure import Measured

log = logging.getLogger("reid_core")


def check_names(request: Request) -> None:
    """Check the endings of the files that shall be written.

    Raises:
        UsageError: A file cannot have that ending.
    """
    from reid_core.engine.evaluation.rank_table import require_ending as require_table
    from reid_core.evaluation.files.embedding_file import require_ending as require_embeddings

    if request.save_embeddings is not None:
        require_embeddings(request.save_embeddings)
    if request.save_ranks is not None:
        require_table(request.save_ranks)


def require_writable(request: Request) -> None:
    """Make the folders of the files, and try whether they can be written to.

    Hours of evaluation are not thrown away for a folder.

    Raises:
        DataError: One cannot be made, or nothing can be written in it.
    """
    files = [one for one in (request.save_embeddings, request.save_ranks) if one is not None]
    folders = [one.parent for one in files]
    folders += [] if request.output is None else [request.output]
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise DataError(f"{folder} cannot be written: {error.strerror or error}") from error


def write_files(request: Request, done: Measured) -> Iterator[Path]:
    """Write what was asked for, one after another.

    Args:
        request: Which files.
        done: The evaluation.

    Yields:
        Each file or folder, when it is written.

    Raises:
        DataError: One cannot be written.
    """
    if request.save_embeddings is not None:
        yield from _write_embeddings(request.save_embeddings, done)
    if request.save_ranks is not None:
        from reid_core.engine.evaluation.rank_table import write_rank_table

        write_rank_table(request.save_ranks, done.sets.all, topk=request.topk)
        yield request.save_ranks
    if done.weights is not None and done.threshold is not None:
        from reid_core.engine.evaluation.calibration import store_threshold

        store_threshold(done.weights, done.threshold)
        yield done.weights
    if request.output is not None:
        _write_output(request.output, request, done)
        yield request.output
    elif request.calibrate and done.weights is None:
        log.warning(
            "the threshold is printed and not stored: it belongs to no single weights file of a "
            "run; add --output DIR to keep it in threshold.json"
        )


def _write_embeddings(path: Path, done: Measured) -> list[Path]:
    from reid_core.evaluation.files.embedding_file import write_embeddings
    from reid_core.report.plots.names import file_stems

    sets = done.sets.sets
    stems = file_stems([each.name for each in sets])
    names = [path.with_name(f"{path.stem}_{stem}{path.suffix}") for stem in stems]
    names = [path] if len(sets) == 1 else names
    for each, name in zip(sets, names, strict=True):
        write_embeddings(name, each.embeddings)
    return names


def _write_output(folder: Path, request: Request, done: Measured) -> None:
    from reid_core.engine.check import check_config
    from reid_core.engine.evaluation.config import evaluation_config
    from reid_core.engine.evaluation.details import write_details
    from reid_core.engine.record.run_folder import RunFolder
    from reid_core.engine.results import Results
    from reid_core.report import write_plots, write_report

    try:
        folder.mkdir(parents=True, exist_ok=True)
        Results(done.sets.evaluations).write(folder / "results.json", outcome="evaluated")
        _write_json(
            folder / "ranks.json", {"schema": 1, "rankings": list(_rankings(request, done))}
        )
        if done.details:
            write_details(folder / "details.json", list(done.details.values()))
        if done.threshold is not None:
            plain = {"schema": 1, "threshold": asdict(done.threshold)}
            _write_json(folder / "threshold.json", plain)
        if request.embeddings is None:
            config = evaluation_config(done.config)
            RunFolder(folder).write_start(config, check_config(config))
        RunFolder(folder).write_status("evaluated")
        write_report(folder)
        if done.details:
            # Without the extra there are the tables of the plots, which need nothing.
            has_matplotlib = importlib.util.find_spec("matplotlib") is not None
            write_plots(folder, folder / "plots", png=has_matplotlib)
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error.strerror or error}") from error


def _rankings(request: Request, done: Measured) -> Iterator[dict[str, object]]:
    from reid_core.engine.evaluation.rank_records import query_rows, rank_records

    found: set[str] = set()
    for each in done.sets.all:
        chosen = []
        for wanted in request.queries:
            try:
                rows = query_rows(each, wanted)
            except UsageError as error:
                # Hours of evaluation are not thrown away for a name.
                log.warning("%s", error)
                found.add(wanted)
                continue
            chosen += rows
            found |= {wanted} if rows else set()
        yield from rank_records(each, chosen=chosen, seed=done.config.seed)
    for wanted in request.queries:
        if wanted not in found:
            names = ", ".join(each.name for each in done.sets.sets)
            log.warning(
                "--query %s: no query of %s is called so; give the name of its file, or its row "
                "from 0",
                wanted,
                names,
            )


def _write_json(path: Path, content: object) -> None:
    from reid_core.checkpoint.atomic import write_text_atomically

    text = json.dumps(without_nan(content), indent=2, ensure_ascii=False)
    # File names that are no UTF-8 reach here as lone surrogates.
    write_text_atomically(path, text.encode("utf-8", "backslashreplace").decode() + "\n")
