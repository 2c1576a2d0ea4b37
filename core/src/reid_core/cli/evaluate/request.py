"""What ``reid-eval`` was asked for, and whether its options go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reid_core.cli.evaluate.gate import Minimum
from reid_core.errors import UsageError

EnsembleHow = Literal["concat", "mean"]

_HOW_TO_START = (
    "name weights by --checkpoint runs/mine, or embeddings by --embeddings file.npz, or two runs "
    "by --compare runs/a runs/b"
)


@dataclass(frozen=True)
class Request:
    """The options of ``reid-eval``; names are those of the command line.

    Args:
        checkpoints: Weights; several make an ensemble.
        embeddings: A file of embeddings.
        dataset_name: What their test set is called; None is the file's name.
        config_name: A recipe, where the weights do not say how they were made.
        overrides: Settings, those of options of their own included.
        ensemble: How embeddings of several models are put together.
        with_details: Whether intervals, ROC and failures are worked out; None is the
            configuration's choice.
        calibrate: What a threshold is chosen for.
        validation: What it is chosen on.
        minimums: Figures that must be reached, and error rates that must not be exceeded.
        queries: Queries to look at.
        topk: Gallery entries a query in saved ranks.
        output: Folder for all files.
        save_embeddings: File for the embeddings.
        save_ranks: File for the ranked galleries of all queries.
        as_json: Whether the results are printed as JSON.
    """

    checkpoints: tuple[str, ...]
    embeddings: Path | None
    dataset_name: str | None
    config_name: str | None
    overrides: tuple[str, ...]
    ensemble: EnsembleHow | None
    with_details: bool | None
    calibrate: str | None
    validation: str | None
    minimums: tuple[Minimum, ...]
    queries: tuple[str, ...]
    topk: int
    output: Path | None
    save_embeddings: Path | None
    save_ranks: Path | None
    as_json: bool

    def check(self) -> None:
        """Check that the options go together.

        Raises:
            UsageError: They do not.
        """
        if self.embeddings is not None and self.checkpoints:
            raise UsageError(f"--checkpoint and --embeddings exclude each other; {_HOW_TO_START}")
        if self.embeddings is None and not self.checkpoints:
            raise UsageError(f"there is nothing to evaluate; {_HOW_TO_START}")
        if self.embeddings is not None and self.config_name:
            raise UsageError(
                "--config says how a model is built, and --embeddings needs none; choose the rule "
                "by --protocol and --distance"
            )
        if self.dataset_name and self.embeddings is None:
            raise UsageError(
                "--dataset-name names the test set of --embeddings; a data set is named by its "
                "parameter title: --set data.test.0.title=NAME"
            )
        if len(self.checkpoints) > 1 and self.ensemble is None:
            raise UsageError(
                f"{len(self.checkpoints)} checkpoints are one model only together: say how by "
                "--ensemble concat or --ensemble mean; to compare runs use --compare"
            )
        if self.ensemble is not None and len(self.checkpoints) < 2:
            raise UsageError("--ensemble needs several models: repeat --checkpoint")
        if (self.calibrate is None) != (self.validation is None):
            raise UsageError(
                "--calibrate and --validation go together: a threshold is chosen on validation "
                "data, for example --calibrate fpr=1e-3 --validation mine_val.csv ('reid-data "
                "split --val 0.2' writes one)"
            )
        if self.queries and self.output is None:
            raise UsageError("--query chooses ranked galleries of the report: add --output DIR")
        if self.topk < 1:
            raise UsageError(f"--topk {self.topk}: expected at least 1")
        if self.with_details is False and any(one.needs_details for one in self.minimums):
            names = ", ".join(one.option for one in self.minimums if one.needs_details)
            raise UsageError(f"{names} needs details: leave out --no-details")
        require_free(self.output)


def require_free(output: Path | None) -> None:
    """Check that a folder is not there yet, or empty: nothing is overwritten.

    Raises:
        UsageError: It is a file, or holds something.
    """
    if output is None:
        return
    if output.is_file():
        raise UsageError(f"--output {output} is a file; expected a new folder")
    if output.is_dir() and any(output.iterdir()):
        raise UsageError(
            f"--output {output} holds files already, and nothing is overwritten; choose another "
            "folder"
        )


def settings_of(
    overrides: Sequence[str],
    protocol: str | None,
    distance: str | None,
    rerankers: Sequence[str],
    device: str | None,
) -> list[str]:
    """Return the settings that options of their own stand for, after those of ``--set``.

    Args:
        overrides: ``KEY=VALUE`` of each ``--set``.
        protocol: ``--protocol``, a name or YAML.
        distance: ``--distance``.
        rerankers: Each ``--rerank``, a name or YAML.
        device: ``--device``.

    Raises:
        UsageError: A reranker's parameters are not written in YAML.
    """
    for name in rerankers:
        if not name.lstrip().startswith("{") and any(letter in name for letter in ",=:"):
            raise UsageError(
                f"--rerank {name}: parameters are given in YAML, such as --rerank "
                "'{name: k_reciprocal, k1: 20}', and a second reranker by a second --rerank"
            )
    settings = [*overrides]
    settings += [f"evaluate.protocol={protocol}"] if protocol else []
    settings += [f"evaluate.distance={distance}"] if distance else []
    settings += [f"evaluate.rerank=[{', '.join(rerankers)}]"] if rerankers else []
    settings += [f"device={device}"] if device else []
    return settings


def refuse_arguments(arguments: Sequence[str]) -> None:
    """Answer what is not an option with the option that is meant.

    Raises:
        UsageError: There is an argument.
    """
    if arguments:
        first = arguments[0]
        option = "--embeddings" if first.endswith((".npz", ".parquet")) else "--checkpoint"
        raise UsageError(
            f"unexpected argument {' '.join(arguments)!r}; weights and files are named by options: "
            f"{option} {first}"
        )


def require_alone(**others: object) -> None:
    """Check that ``--compare`` stands alone.

    Raises:
        UsageError: Another option would change nothing.
    """
    given = [f"--{name.replace('_', '-')}" for name, value in others.items() if value]
    if given:
        raise UsageError(
            f"--compare reads what was evaluated before, and excludes {', '.join(given)}; evaluate "
            "each run first, with --output"
        )
