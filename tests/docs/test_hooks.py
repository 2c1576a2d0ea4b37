"""The hook reference has every hook with its signature, and the table of calls is what happens."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import sys
from pathlib import Path

import pytest
import torch

from reid_core.hookspecs import HookSpecs

# One process for all of them: they share what is slow to make.
pytestmark = pytest.mark.xdist_group("docs_hooks")

HOOKS = {name: spec for name, spec in vars(HookSpecs).items() if not name.startswith("_")}
OUTCOMES = ("completed", "stopped", "failed", "interrupted")


def _load(name):
    """Import a script of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


recorded_runs = _load("recorded_runs")


def test_every_hook_has_its_signature(page):
    section = page("docs/hooks.md").section("Reference")
    for name, spec in HOOKS.items():
        signature = str(inspect.signature(spec)).replace("'", "")
        (block,) = section.section(name).blocks("py")
        assert block.text.strip() == f"def {name}{signature}"


def test_the_reference_has_the_hooks_in_their_order(page):
    headings = re.findall(r"^### (\w+)$", page("docs/hooks.md").section("Reference").prose, re.M)
    assert headings == list(HOOKS)


def test_hooks_named_in_running_text_exist(page):
    pattern = r"`((?:before|after|on|should|run|validate)_[a-z]+)`"
    for name in ("hooks", "kinds/hooks", "plugins", "training", "from_fastreid"):
        named = set(re.findall(pattern, page(f"docs/{name}.md").prose)) - {"on_error"}
        assert named <= set(HOOKS), name


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, picture_cache):
    """A run for each way to end."""
    folder = tmp_path_factory.mktemp("ways")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REID_CACHE", str(picture_cache))
        return {
            way: recorded_runs.record(way, folder / str(number))
            for number, way in enumerate(recorded_runs.WAYS)
        }


def test_the_table_of_calls_is_what_happens(page, recorded):
    section = page("docs/hooks.md").section("How often each hook is called")
    ((_, rows),) = section.tables()
    assert rows == recorded_runs.table(recorded)
    header = next(line for line in section.prose.splitlines() if line.startswith("|"))
    assert [cell.strip() for cell in header.strip("|").split("|")] == ["hook", *recorded]


def test_every_way_to_end_is_explained(page):
    section = page("docs/hooks.md").section("How often each hook is called")
    explained = re.findall(r"^- \*\*(.+?)\*\*:", section.prose, re.M)
    assert explained == list(recorded_runs.WAYS)


def test_a_failing_observer_changes_nothing_for_the_others(recorded):
    assert recorded["an observer fails"].others == recorded["completed"].calls


def test_the_table_of_what_is_left_is_what_is_left(page, recorded):
    section = page("docs/training.md").section("How a run ends")
    table = {cells[0]: cells[1:] for cells in section.tables()[1][1]}
    header = next(line for line in section.prose.splitlines() if line.startswith("| left"))
    for column, way in enumerate(cell.strip() for cell in header.strip("|").split("|")[1:]):
        run = recorded[way]
        folder = run.folder
        assert {name: cells[column] for name, cells in table.items()} == {
            "newest regular checkpoint": newest_checkpoint(folder),
            "`checkpoints/emergency.pt`": emergency_checkpoint(folder),
            "evaluated after steps": evaluated_steps(folder),
            "`status.json`, `results.json`": run.status,
            "`report.html`": "yes" if (folder / "report.html").is_file() else "no",
        }
        states = {read(folder / "status.json")["state"], read(folder / "results.json")["outcome"]}
        assert states == {run.status}


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def newest_checkpoint(folder):
    newest = max((folder / "checkpoints").glob("step_*.pt")).stem
    return f"step {int(newest.partition('_')[2])}"


def emergency_checkpoint(folder):
    path = folder / "checkpoints" / "emergency.pt"
    return f"step {torch.load(path, weights_only=True)['step']}" if path.is_file() else "no"


def evaluated_steps(folder):
    return ", ".join(str(entry["step"]) for entry in read(folder / "results.json")["evaluations"])


def test_the_note_says_how_to_go_on_from_the_emergency_checkpoint(recorded):
    notes = " ".join(recorded["a hook fails"].notes)
    assert "emergency.pt" in notes
    assert "emergency.pt" not in " ".join(recorded["the step fails"].notes)


def test_the_table_of_outcomes_has_every_outcome(page):
    table = page("docs/training.md").section("How a run ends").tables()[0][1]
    assert tuple(cells[0].strip("`") for cells in table) == OUTCOMES


def test_the_run_folder_holds_what_the_page_lists(page, recorded):
    ((_, rows), (_, columns)) = page("docs/getting_started.md").section("The run folder").tables()
    folder = recorded["completed"].folder
    listed = {cells[0].strip("`").rstrip("/") for cells in rows}
    # What was not committed is there where the tests run in a repository that has such changes.
    there = {path.name for path in folder.iterdir()} - {"git.diff"}
    # The log file belongs to the command: a program logs as it likes.
    assert listed == there | {"train.log"}
    assert {path.name for path in (folder / "weights").iterdir()} == {
        "last.safetensors",
        "best.safetensors",
    }
    known = set(re.findall(r"`([^`]+)`", " ".join(cells[0] for cells in columns)))
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        for key in json.loads(line):
            generic = {
                key,
                re.sub(r"^loss/.*", "loss/<name>", key),
                re.sub(r"^triplet/.*", "<loss>/<metric>", key),
                re.sub(r"^synthetic/.*", "<test set>/mAP", key),
            }
            assert generic & known, key


def test_the_checkpoint_holds_what_the_page_lists(page, recorded):
    (_, rows), *_ = page("docs/training.md").section("Checkpoints").tables()
    listed = {name for cells in rows for name in re.findall(r"`(\w+)`", cells[0])}
    path = max((recorded["completed"].folder / "checkpoints").glob("step_*.pt"))
    assert listed == set(torch.load(path, weights_only=True))
