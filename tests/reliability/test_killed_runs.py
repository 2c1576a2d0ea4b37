"""Runs that are killed again and again end as the run that nobody touched, bit by bit."""

from __future__ import annotations

import logging
import random
import socket
import time
from pathlib import Path

import pytest

logger = logging.getLogger(__name__)

KILLS = 30
STEPS = 96

RECIPE = """
extends: osnet/osnet_x0_25
data:
  train: {name: synthetic, identities: 8, test_identities: 4, cameras: 2}
  image_size: [64, 32]
  batch: {sampler: identity, identities: 4, instances: 2}
  workers: 0
train: {epochs: 16, log_every: 4}
evaluate: {every: 3, at_start: false, details: false}
hooks:
  - {name: ema, decay: 0.9}
default_hooks:
  - lr_schedule
  - {name: checkpoint, every_steps: 1, keep: 2}
  - evaluation
  - metric_log
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "killed.yaml"
    path.write_text(RECIPE)
    return path


def saved(run: Path) -> int:
    """Return the newest step on the disk; 0 without one."""
    names = [path.stem for path in (run / "checkpoints").glob("step_*.pt")]
    return max((int(name.partition("_")[2]) for name in names), default=0)


def wait_for_a_moment(run: Path, life, draw: random.Random) -> str:
    """Wait until the process shall die; say what it was doing."""
    what = draw.choice(("starting", "training", "training", "saving", "saving"))
    if what == "starting":
        life.ended.wait(draw.uniform(0, 1.5))
        return what
    before = saved(run)
    life.until(lambda: saved(run) > before, 60)
    if what == "saving":
        folder = run / "checkpoints"
        life.until(lambda: any(folder.glob(".*.tmp")), 20)
        life.ended.wait(draw.uniform(0, 0.004))
    else:
        life.ended.wait(draw.uniform(0, 0.3))
    return what


def compare(left, killed: Path, whole: Path) -> None:
    one, other = left.newest(killed), left.newest(whole)
    assert one["step"] == other["step"] == STEPS
    for part in ("model", "eval_model", "optimizer", "schedule", "random", "results", "hooks"):
        assert left.differences(one[part], other[part], part) == []
    assert left.rows(killed) == left.rows(whole)
    assert len(left.rows(whole)) > STEPS // 4


def test_thirty_kills_change_no_bit(nursery, recipe: Path, tmp_path: Path, left) -> None:
    seed = time.time_ns() % 2**32
    draw = random.Random(seed)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    undisturbed = nursery.start("--config", recipe, "--output", whole, log=tmp_path / "whole.log")
    assert undisturbed.wait(300) == 0, (tmp_path / "whole.log").read_text()
    log, told = tmp_path / "killed.log", []
    while len(told) < KILLS:
        life = nursery.start("--config", recipe, "--output", killed, "--resume", log=log)
        what = wait_for_a_moment(killed, life, draw)
        life.kill()
        code = life.wait(30)
        assert code == -9, f"seed {seed}, {what}, {len(told)} kills:\n{log.read_text()[-3000:]}"
        told.append(f"{what} at {saved(killed)}")
    last = nursery.start("--config", recipe, "--output", killed, "--resume", log=log)
    assert last.wait(300) == 0, f"seed {seed}:\n{log.read_text()[-3000:]}"
    logger.info("seed %d: %d kills survived: %s", seed, KILLS, ", ".join(told))
    compare(left, killed, whole)


def test_thirty_kills_of_either_process_change_no_bit(
    nursery, recipe: Path, tmp_path: Path, left
) -> None:
    seed = time.time_ns() % 2**32
    draw = random.Random(seed)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    both = start_both(nursery, recipe, whole, tmp_path / "whole.log")
    for life in both:
        assert life.wait(300) == 0, (tmp_path / "whole.log").read_text()
    log, told = tmp_path / "killed.log", []
    while len(told) < KILLS:
        both = start_both(nursery, recipe, killed, log)
        what = wait_for_a_moment(killed, both[0], draw)
        # One that dies before they have met is the launcher's to notice.
        whom = both if what == "starting" else draw.choice((both[:1], both[1:], both))
        for life in whom:
            life.kill()
        # Whoever was left alone notices by itself.
        codes = [life.wait(60) for life in both]
        told_by = log.read_text()[-3000:]
        assert all(life.code == -9 for life in whom), f"seed {seed}, {what}: {codes}\n{told_by}"
        assert all(code != 0 for code in codes), f"seed {seed}, {what}: {codes}\n{told_by}"
        told.append(f"{what} at {saved(killed)}")
    both = start_both(nursery, recipe, killed, log)
    for life in both:
        assert life.wait(300) == 0, f"seed {seed}:\n{log.read_text()[-3000:]}"
    logger.info("seed %d: %d kills survived: %s", seed, KILLS, ", ".join(told))
    compare(left, killed, whole)


def start_both(nursery, recipe: Path, run: Path, log: Path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {"WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    env |= {"GLOO_SOCKET_IFNAME": "lo"}
    return [
        nursery.start(
            *("--config", recipe, "--output", run, "--resume"),
            log=log,
            RANK=rank,
            LOCAL_RANK=rank,
            **env,
        )
        for rank in (0, 1)
    ]
