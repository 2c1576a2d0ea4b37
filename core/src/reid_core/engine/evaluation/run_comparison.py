"""Two evaluations set beside each other: figures, differences, and whether they may be chance."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from reid_core.errors import DataError, UsageError
from reid_core.evaluation.detail import Detail
from reid_core.evaluation.metrics.comparison import Comparison, compare_runs
from reid_core.report.details import with_nan
from reid_core.report.pairing import PairKey, by_pair_key

#: Figures that are compared, in this order, where both runs have them.
COMPARED = ("mAP", "mINP", "rank1", "rank5", "rank10", "r_precision", "auc", "tpr@fpr=1e-3")


@dataclass(frozen=True)
class ComparedSet:
    """A test set in two runs.

    Args:
        dataset: Name of the test set.
        is_reranked: Whether the figures are those after re-ranking.
        protocol: Name of the protocol of both.
        figures: Figures of the first and of the second run by name.
        test: The paired test of mAP; None where runs hold figures only.
        notes: How the runs differ besides.
    """

    dataset: str
    is_reranked: bool
    protocol: str
    figures: dict[str, tuple[float, float]]
    test: Comparison | None
    notes: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yield a line a figure, and what is to be said beside them."""
        order = ", re-ranked" if self.is_reranked else ""
        yield f"{self.dataset} (protocol {self.protocol}{order})"
        for name, (a, b) in self.figures.items():
            # Zero is added so that a difference that rounds to nothing has no minus.
            difference = round(100 * (b - a), 2) + 0.0
            line = f"  {name:12} {100 * a:7.2f} %  {100 * b:7.2f} %  {difference:+7.2f}"
            yield line + (self._told() if name == "mAP" else "")
        for note in self.notes:
            yield f"  {note}"

    def plain(self) -> dict[str, object]:
        """Return plain types."""
        return {
            **asdict(self),
            "figures": {
                name: {"a": a, "b": b, "difference": b - a} for name, (a, b) in self.figures.items()
            },
        }

    def _told(self) -> str:
        if self.test is None:
            return ""
        low, high = self.test.interval.low, self.test.interval.high
        return (
            f"  ({100 * self.test.interval.level:g} % interval {100 * low:+.2f} to "
            f"{100 * high:+.2f}, p {self.test.p_value:.4f}, {self.test.num_identities} identities)"
        )


def compare_folders(first: Path, second: Path) -> list[ComparedSet]:
    """Compare two runs, test set by test set.

    Args:
        first: A run folder, an output folder of ``reid-eval``, or a ``details.json``.
        second: Another one.

    Returns:
        The sets that both have; a difference above 0 says that the second is better.

    Raises:
        UsageError: The runs have no test set in common, or measured one by different rules.
        DataError: A run has no figures, or the queries of a set differ.
    """
    runs = [_read(path) for path in (first, second)]
    common = [key for key in runs[0] if key in runs[1]]
    _require_one_rule(runs, common, (first, second))
    if not common:
        names = [", ".join(sorted({key.dataset for key in run})) or "none" for run in runs]
        raise UsageError(
            f"{first} and {second} have no test set in common: {names[0]} and {names[1]}; evaluate "
            "both on the same sets"
        )
    return [_compared(key, runs[0][key], runs[1][key]) for key in common]


def _require_one_rule(
    runs: Sequence[Mapping[PairKey, Detail]], common: Sequence[PairKey], paths: tuple[Path, Path]
) -> None:
    compared = {(key.dataset, key.is_reranked) for key in common}
    for key in runs[0]:
        if (key.dataset, key.is_reranked) in compared:
            continue
        for other in runs[1]:
            if (other.dataset, other.is_reranked) == (key.dataset, key.is_reranked):
                raise UsageError(
                    f"{key.dataset}: {paths[0]} is measured by protocol {key.protocol} "
                    f"({key.rule}) and {paths[1]} by {other.protocol} ({other.rule}): their "
                    "figures cannot be compared; evaluate both by the same --protocol"
                )


def _compared(key: PairKey, a: Detail, b: Detail) -> ComparedSet:
    has_queries = bool(a.ap and b.ap)
    test = None
    if has_queries:
        try:
            test = compare_runs(a.ap, b.ap, a.query_pids, b.query_pids)
        except DataError as error:
            raise DataError(f"{key.dataset}: {error}") from error
    notes = [
        f"{name}: {one or 'plain'} and {other or 'plain'}"
        for name, one, other in (
            ("distance", a.distance, b.distance),
            ("features", a.features, b.features),
            ("re-ranking", ", ".join(a.postprocessing), ", ".join(b.postprocessing)),
        )
        if one != other
    ]
    if not has_queries:
        notes.append(
            "figures only: without details.json in both runs it cannot be told whether the "
            "difference is chance"
        )
    figures = {
        name: (a.metrics[name], b.metrics[name])
        for name in COMPARED
        if name in a.metrics and name in b.metrics
    }
    return ComparedSet(key.dataset, key.is_reranked, a.protocol, figures, test, tuple(notes))


def _read(path: Path) -> Mapping[PairKey, Detail]:
    """Return what a run holds, the newest of each set; figures alone where there is no more."""
    file = path / "details.json" if path.is_dir() else path
    if file.is_file():
        found = _records(file, "details")
    elif (path / "results.json").is_file():
        found = [_of_evaluation(entry) for entry in _plain(path / "results.json", "evaluations")]
        # It has all evaluations of the run, in the order of time.
        found = list({(one.dataset, bool(one.postprocessing)): one for one in found}.values())
    else:
        raise DataError(
            f"{path} has neither details.json nor results.json; expected a run folder, the "
            "--output of reid-eval, or a details.json"
        )
    return by_pair_key(found)


def _records(path: Path, name: str) -> list[Detail]:
    try:
        return TypeAdapter(list[Detail]).validate_python(with_nan(_plain(path, name)))
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise DataError(f"{path} cannot be read: {place}: {error.errors()[0]['msg']}") from error


def _plain(path: Path, name: str) -> list[dict[str, object]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return list(content[name])
    except (KeyError, TypeError) as error:
        raise DataError(f"{path} holds no {name}; expected what an evaluation wrote") from error
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}; expected JSON with {name}") from error


def _of_evaluation(entry: dict[str, object]) -> Detail:
    kept = ("dataset", "step", "protocol", "protocol_description", "distance", "features")
    wanted = (*kept, "postprocessing", "metrics", "deviations")
    return TypeAdapter(Detail).validate_python({k: entry[k] for k in wanted if k in entry})
