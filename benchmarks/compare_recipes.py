"""What each addition to a recipe is worth: variants, seeds and data sets, one budget.

    python benchmarks/compare_recipes.py --output compare.jsonl
    python benchmarks/compare_recipes.py --output compare.jsonl --data mine=FOLDER

Runs every recipe of configs/comparison with one thread each and writes a line of JSON a run; runs
that are in the file already are not repeated. FOLDER has the layout of Market-1501. Then prints a
table: mean and standard deviation of mAP over the seeds, and CPU seconds a run. This is no timing:
it says how well recipes do at equal cost.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECIPES = ROOT / "configs" / "comparison"


@dataclass(frozen=True)
class Run:
    """One training.

    Args:
        data: Name of the data set.
        recipe: Name of the recipe's file.
        seed: Seed of the run.
    """

    data: str
    recipe: str
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What it gave.

    Args:
        run: The training.
        mean_ap: mAP on query and gallery, a fraction.
        rank1: Rank 1, a fraction.
        steps: Steps trained.
        cpu_seconds: Processor time of everything, starting and evaluating included.
    """

    run: Run
    mean_ap: float
    rank1: float
    steps: int
    cpu_seconds: float


def execute(run: Run, settings: Sequence[str]) -> Outcome:
    """Train in a process of its own.

    Raises:
        RuntimeError: The training failed; the message ends with what it wrote.
    """
    folder = Path(tempfile.mkdtemp())
    try:
        command = [
            shutil.which("reid-train") or "reid-train",
            *("--config", str(RECIPES / f"{run.recipe}.yaml"), "--output", str(folder / "run")),
            *("--device", "cpu", "--set", f"seed={run.seed}"),
            *(part for setting in settings for part in ("--set", setting)),
        ]
        log = folder / "log"
        with log.open("w") as file:
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            process = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)}: {log.read_text()[-2000:]}")
        results = json.loads((folder / "run" / "results.json").read_text())
        last = results["evaluations"][-1]
        metrics = last["metrics"]
        seconds = usage.ru_utime + usage.ru_stime
        return Outcome(run, metrics["mAP"], metrics["rank1"], last["step"], seconds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read(path: Path) -> list[Outcome]:
    """Return the outcomes that a file holds."""
    lines = path.read_text().splitlines() if path.is_file() else []
    records = [json.loads(line) for line in lines]
    return [Outcome(Run(**record.pop("run")), **record) for record in records]


def table(outcomes: Sequence[Outcome], data: str) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    yield f"| {data} | mAP, % | rank 1, % | steps | CPU seconds |"
    yield "|---|---|---|---|---|"
    mine = [outcome for outcome in outcomes if outcome.run.data == data]
    for recipe in sorted({outcome.run.recipe for outcome in mine}):
        of_recipe = [outcome for outcome in mine if outcome.run.recipe == recipe]
        mean_ap = [100 * outcome.mean_ap for outcome in of_recipe]
        spread = statistics.stdev(mean_ap) if len(mean_ap) > 1 else 0.0
        rank1 = statistics.mean(100 * outcome.rank1 for outcome in of_recipe)
        seconds = statistics.mean(outcome.cpu_seconds for outcome in of_recipe)
        yield (
            f"| `{recipe}` | {statistics.mean(mean_ap):.1f} ± {spread:.1f} | {rank1:.1f} | "
            f"{of_recipe[0].steps} | {seconds:.0f} |"
        )


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True, help="file of outcomes, kept")
    parser.add_argument("--data", default="synthetic", help="synthetic, or NAME=FOLDER")
    parser.add_argument("--set", action="append", default=[], help="setting of every run")
    parser.add_argument("--seeds", type=int, default=3, help="seeds of each recipe")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at a time")
    parser.add_argument("recipes", nargs="*", help="by default all of configs/comparison")
    arguments = parser.parse_args()
    name, _, folder = arguments.data.partition("=")
    settings = list(arguments.set)
    if folder:
        source = {"name": "market1501", "root": str(Path(folder).resolve()), "title": name}
        settings.append(f"data.train={json.dumps([source])}")
    recipes = arguments.recipes or sorted(path.stem for path in RECIPES.glob("*.yaml"))
    wanted = [Run(name, r, seed) for seed in range(arguments.seeds) for r in recipes]
    done = {outcome.run for outcome in read(arguments.output)}
    started = time.monotonic()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        missing = [run for run in wanted if run not in done]
        for outcome in pool.map(lambda run: execute(run, settings), missing):
            with arguments.output.open("a") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")
            sys.stderr.write(f"{time.monotonic() - started:6.0f} s  {outcome}\n")
    sys.stdout.write("\n".join(table(read(arguments.output), name)) + "\n")


if __name__ == "__main__":
    main()
