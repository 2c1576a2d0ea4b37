"""The tutorial works: its commands are run in order, with nothing but the wheels and the page."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

# The first test waits for all commands of the page.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("docs_tutorial"),
    pytest.mark.timeout(1800),
]

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = [ROOT / "core", *sorted((ROOT / "plugins").iterdir())]
#: What pip would fetch is in a folder of wheels, or is there already.
PIP = ["--no-index", "--no-build-isolation", "--disable-pip-version-check", "--quiet"]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The wheels of this repository."""
    folder = tmp_path_factory.mktemp("wheels")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *PIP, "--no-deps", "-w", folder, *PROJECTS],
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture(scope="module")
def commands(tmp_path_factory, wheels):
    """The folder of the commands of a new environment, which has the packages of others."""
    folder = tmp_path_factory.mktemp("environment")
    others = folder / "others"
    others.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        is_ours = entry.name.startswith(("reid_", "_reid", "_editable", "__editable__"))
        if not is_ours and entry.suffix != ".pth":
            (others / entry.name).symlink_to(entry)
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    purelib = next((folder / "venv/lib").glob("python*/site-packages"))
    (purelib / "others.pth").write_text(f"{others}\n")
    found = folder / "venv/bin"
    options = shlex.join([*PIP, "--find-links", str(wheels)])
    script(found / "pip", f'exec "{found}/python" -m pip "$1" {options} "${{@:2}}"')
    return found


def script(path, line):
    path.write_text(f"#!/bin/bash\n{line}\n")
    path.chmod(0o755)


@pytest.fixture(scope="module")
def done(page, commands, tmp_path_factory, picture_cache):
    """What each command printed, after all blocks of the page were done from top to bottom."""
    home = here = tmp_path_factory.mktemp("author")
    paths = os.pathsep.join([str(commands), os.environ["PATH"]])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    environment |= {"PATH": paths, "REID_CACHE": str(picture_cache), "OMP_NUM_THREADS": "1"}
    environment |= {"PYTEST_ADDOPTS": "-q -p no:cacheprovider"}
    printed = {}
    for block in page("docs/write_a_plugin.md").blocks("sh", "py", "yml"):
        if block.language != "sh":
            path = here / block.file
            assert path.is_file(), f"{block.file} is not where the page says"
            path.write_text(block.text, encoding="utf-8")
            continue
        for line in block.text.splitlines():
            result = subprocess.run(
                ["bash", "-c", f"set -e\n{line}\npwd"],
                cwd=here,
                env=environment,
                capture_output=True,
                text=True,
                timeout=300,
            )
            told = f"{line}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
            assert result.returncode == 0, told
            output, _, folder = result.stdout.rstrip("\n").rpartition("\n")
            here = Path(folder)
            printed.setdefault(line, []).append(output)
    return home, printed


def test_every_command_does_what_it_shall(done):
    _, printed = done
    for line, outputs in printed.items():
        for output in outputs:
            if line == "python -m pytest":
                assert re.search(r"^\d+ passed", output, re.M), output[-3000:]
                assert "failed" not in output
            elif line.startswith("reid-train"):
                assert "result  synthetic" in output, line
                assert "report.html" in output
            elif line.startswith("reid-plugins check"):
                assert "no faults, no warnings" in output


def test_the_page_shows_what_new_says(done, page):
    _, printed = done
    (shown,) = page("docs/write_a_plugin.md").section("A loss").blocks("text")
    (said,) = printed["reid-plugins new centre-loss --kind loss"]
    pattern = ".*".join(re.escape(part) for part in shown.text.strip().split("…"))
    assert re.fullmatch(pattern, said.strip())


def test_the_files_are_those_of_the_table(done, page):
    home, _ = done
    ((_, rows),) = page("docs/write_a_plugin.md").section("A loss").tables()
    listed = {name for cells in rows for name in re.findall(r"`([^`]+)`", cells[0])}
    project = home / "reid-plugin-centre-loss"
    assert all((project / name).exists() for name in listed)


def test_the_loss_is_seen_in_the_run_folder(done):
    home, _ = done
    run = home / "reid-plugin-centre-loss/runs/centre"
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    keys = {key for row in rows for key in row}
    assert {"loss/centre_loss", "centre_loss/distance"} <= keys
    report = (run / "report.html").read_text(encoding="utf-8")
    assert "loss/centre_loss" in report
    assert "reid-plugin-centre-loss" in report
    used = {one["name"]: one["dist"] for one in json.loads((run / "components.json").read_text())}
    assert used["centre_loss"] == "reid-plugin-centre-loss"


def test_the_last_run_has_all_three(done):
    home, _ = done
    runs = (home / "reid-plugin-loss-watch/runs/example").glob("*/components.json")
    run = max(runs, key=lambda path: path.stat().st_mtime)
    used = {(one["kind"], one["name"]) for one in json.loads(run.read_text())}
    assert {
        ("losses", "centre_loss"),
        ("backbones", "tiny_net"),
        ("hooks", "loss_watch"),
    } <= used
