"""Each fault ends in a clear state, and the run that goes on is the one that never met it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reid_core.testing import write_tiny_market

FAULTS = Path(__file__).with_name("faults.py")
STEPS = 12

RECIPE = """
extends: osnet/osnet_x0_25
data:
  train: {{name: market1501, root: "{root}"}}
  image_size: [64, 32]
  batch: {{sampler: identity, identities: 3, instances: 4}}
  workers: {workers}
train: {{epochs: 3, log_every: 3}}
evaluate: {{every: 2, at_start: false, details: false}}
hooks:
  - {{name: fault, what: {what}, step: 7}}
default_hooks:
  - lr_schedule
  - {{name: checkpoint, every_steps: 2}}
  - evaluation
  - metric_log
  - console
"""


class Bench:
    """A recipe, its data, and a run that nothing happened to."""

    def __init__(self, nursery, folder: Path) -> None:
        self._nursery = nursery
        self.folder = folder
        self.root = write_tiny_market(folder / "market")
        self.whole = folder / "whole"
        code, log = self.run(self.whole, "nothing")
        assert code == 0, log

    def run(self, output: Path, what: str, *options: object, workers: int = 0) -> tuple[int, str]:
        """Train, and return exit code and log."""
        recipe = self.folder / f"{what}{workers}.yaml"
        recipe.write_text(RECIPE.format(root=self.root, what=what, workers=workers))
        # Not beside the output, whose disk may be full.
        log = self.folder / f"{output.name}.{len(list(self.folder.glob('*.log')))}.log"
        arguments = ("--config", recipe, "--plugin-file", FAULTS, "--output", output, *options)
        code = self._nursery.start(*arguments, log=log).wait(120)
        return code, log.read_text()


@pytest.fixture(scope="module")
def bench(nursery, tmp_path_factory) -> Bench:
    return Bench(nursery, tmp_path_factory.mktemp("faults"))


@pytest.fixture
def go_on(bench, left):
    """Resume without the fault, and compare with the run that never met it."""

    def run(output: Path) -> str:
        # The hook does nothing now, which is a changed configuration.
        code, log = bench.run(output, "nothing", "--resume", "--changes", "use")
        assert code == 0, log
        one, other = left.newest(output), left.newest(bench.whole)
        assert one["step"] == other["step"]
        for part in ("model", "optimizer", "schedule", "random", "results"):
            assert left.differences(one[part], other[part], part) == []
        assert left.rows(output) == left.rows(bench.whole)
        assert status(output)["state"] == "completed"
        return log

    return run


def status(run: Path) -> dict[str, object]:
    return json.loads((run / "status.json").read_text())


@contextmanager
def small_disk(place: Path, *, size: int) -> Iterator[Path]:
    """Mount a file system of so many bytes."""
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)],
        capture_output=True,
        text=True,
    )
    if mounted.returncode:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_an_image_breaks_in_the_middle_of_an_epoch(bench, go_on):
    run, copy = bench.folder / "image", bench.folder / "copy"
    shutil.copytree(bench.root, copy)
    try:
        code, log = bench.run(run, "image")
    finally:
        shutil.copytree(copy, bench.root, dirs_exist_ok=True)
    assert code == 3, log
    assert re.search(r"error: .*bounding_box_train/\d{4}_c\ds1_\d{6}_00\.png", log)
    assert "Traceback" not in log
    assert (status(run)["state"], status(run)["step"]) == ("failed", 8)
    go_on(run)


def test_a_worker_is_killed(bench, go_on):
    run = bench.folder / "worker"
    code, log = bench.run(run, "worker", workers=1)
    assert code == 1, log
    assert "a worker process died" in log
    assert "raised by" not in log
    assert status(run)["state"] == "failed"
    go_on(run)


def test_a_hook_raises(bench, go_on):
    run = bench.folder / "hook"
    code, log = bench.run(run, "hook")
    assert code == 1, log
    assert "the hook has had enough" in log
    assert "hook 'fault'" in log
    assert (run / "checkpoints" / "emergency.pt").is_file()
    go_on(run)


def test_the_clock_jumps(bench, left):
    run = bench.folder / "clock"
    code, log = bench.run(run, "clock", "--set", "default_hooks.1.every_minutes=100")
    assert code == 0, log
    # An hour and a hundred minutes are less than the day that the clock on the wall jumped by.
    names = sorted(path.name for path in (run / "checkpoints").glob("step_*.pt"))
    assert names == ["step_00000010.pt", "step_00000012.pt"]
    one, other = left.newest(run), left.newest(bench.whole)
    assert left.differences(one["model"], other["model"]) == []
    for row in map(json.loads, (run / "metrics.jsonl").read_text().splitlines()):
        assert all(0 <= value < 60 for key, value in row.items() if key.startswith("time/"))


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped"])
def test_the_last_checkpoint_is_damaged(bench, left, damage):
    run = bench.folder / damage
    shutil.copytree(bench.whole, run)
    last = max((run / "checkpoints").glob("step_*.pt"))
    content = bytearray(last.read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "empty":
        content = bytearray()
    else:
        content[len(content) // 2] ^= 1
    last.write_bytes(content)
    code, log = bench.run(run, "nothing", "--resume")
    assert code == 0, log
    assert last.name in log
    assert "after step 10" in log
    one, other = left.newest(run), left.newest(bench.whole)
    assert left.differences(one["model"], other["model"]) == []
    assert left.rows(run) == left.rows(bench.whole)


def test_the_disk_is_full(bench, go_on, left):
    size = (bench.whole / "checkpoints" / "step_00000010.pt").stat().st_size
    run = bench.folder / "full"
    with small_disk(bench.folder / "small", size=int(2.5 * size)) as place:
        code, log = bench.run(place / "run", "nothing")
        assert code == 1, log
        assert "No space left on device" in log
        assert "cannot be written" in log
        assert "Traceback" not in log
        assert f"make room, then go on with: reid-train --resume {place / 'run'}" in log
        assert status(place / "run")["state"] == "failed"
        shutil.copytree(place / "run", run)
    assert not list((run / "checkpoints").glob(".*.tmp"))
    assert 0 < left.newest(run)["step"] < STEPS
    go_on(run)


def test_not_a_byte_is_left_on_the_disk(bench, go_on, left):
    with small_disk(bench.folder / "tiny", size=2**25) as place:
        code, log = bench.run(place / "run", "full")
        assert code == 1, log
        assert re.search(r"error: \[Errno 28\] No space left on device: '.*/results.json'", log)
        assert "Traceback" not in log
        assert "train.log cannot be written: No space left on device; it lacks lines" in log
        assert f"make room, then go on with: reid-train --resume {place / 'run'}" in log
        assert (status(place / "run")["state"], status(place / "run")["step"]) == ("failed", 8)
        run = bench.folder / "filled"
        shutil.copytree(place / "run", run)
    assert left.newest(run)["step"] == 6
    go_on(run)
