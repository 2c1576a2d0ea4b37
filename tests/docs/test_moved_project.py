"""The package that the FastReID page moves a project into works."""

from __future__ import annotations

import inspect
import json
import re

import pytest

from reid_core.hookspecs import HookSpecs

ENTRY = "import sys; from reid_core.cli import train; sys.exit(train.main(sys.argv[1:]))"


@pytest.fixture
def package(page, tmp_path, install_sources):
    for block in page("docs/from_fastreid.md").section("An example").blocks("toml", "py", "yml"):
        path = tmp_path / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
    (tmp_path / "src/reid_plugin_norm/__init__.py").touch()
    install_sources(tmp_path)
    return tmp_path


def test_it_trains_and_logs_both_numbers(package, python_in):
    small = [
        "data.train={name: synthetic, identities: 4, test_identities: 4, cameras: 2, shots: 4}",
        "data.batch={identities: 2, instances: 4}",
        "data.image_size=[64, 32]",
        "data.workers=0",
        "data.transforms=[]",
        "train.epochs=1",
        "train.log_every=1",
        "train.schedule={name: constant, warmup: null}",
        "hooks=[{name: norm_log, period: 2}]",
    ]
    options = [word for setting in small for word in ("--set", setting)]
    call = ("-c", ENTRY, "--config", "norm/market", "--output", "run", "--device", "cpu")
    result = python_in(package, *call, *options)
    assert result.returncode == 0, result.stderr
    text = (package / "run/metrics.jsonl").read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    assert [row["step"] for row in rows if "mean_norm" in row] == [2, 4]
    means = {row["step"]: row["norm/mean"] for row in rows if "norm/mean" in row}
    for row in rows:
        if "mean_norm" in row:
            assert row["mean_norm"] == pytest.approx(means[row["step"]])
    assert any("loss/norm" in row for row in rows)


def test_hooks_of_the_table_can_ask_for_what_it_says(page):
    ((_, rows),) = page("docs/from_fastreid.md").section("Hooks one by one").tables()
    for cells in rows:
        named = re.findall(r"`(\w+)`", cells[1])
        hooks = [name for name in named if hasattr(HookSpecs, name)]
        if hooks and cells[2]:
            (*_, hook) = hooks
            allowed = list(inspect.signature(getattr(HookSpecs, hook)).parameters)[1:]
            assert re.findall(r"`(\w+)`", cells[2]) == allowed, hook
