"""What the tests that span packages share: the installed commands, and a tiny data set."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reid_core.testing import write_tiny_market

SHARED = Path(__file__).resolve().parents[2] / "shared"

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def tiny_market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_market(tmp_path_factory.mktemp("tiny"), size=(64, 32))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    if not (SHARED / "data").is_dir():
        pytest.skip(f"the real data sets are not here ({SHARED / 'data'})")
    return SHARED / "data"


@pytest.fixture(scope="session")
def bin_dir() -> Path:
    """Where the commands of this environment are."""
    return Path(sys.executable).parent


@pytest.fixture
def run(bin_dir: Path, tmp_path: Path) -> Command:
    """Run a command of this environment in the test's folder."""

    def call(
        *arguments: object, env: dict[str, str] | None = None, timeout: float = 300
    ) -> subprocess.CompletedProcess[str]:
        name, *rest = (str(argument) for argument in arguments)
        return subprocess.run(
            [str(bin_dir / name), *rest],
            cwd=tmp_path,
            env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return call


@pytest.fixture
def small_osnet(tiny_market: Path) -> list[str]:
    """Options that make the OSNet recipe small enough for a test: 3 epochs of 4 steps."""
    return [
        "--config",
        "osnet/osnet_x0_25",
        "--set",
        f"data.train={{name: market1501, root: '{tiny_market.as_posix()}'}}",
        "--set",
        "data.image_size=[64, 32]",
        "--set",
        "data.batch={identities: 3, instances: 4}",
        "--set",
        "data.workers=0",
        "--set",
        "epochs=3",
        "--set",
        "evaluate.every=2",
        "--set",
        "schedule.warmup=null",
    ]
