"""The hook reference has every hook with its signature, and the table of calls is what happens."""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter

import pytest
import torch

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.hookspecs import HookSpecs, hookimpl

# One process for all of them: they share what is slow to make.
pytestmark = pytest.mark.xdist_group("docs_hooks")

HOOKS = {name: spec for name, spec in vars(HookSpecs).items() if not name.startswith("_")}
OUTCOMES = ("completed", "stopped", "failed", "interrupted")

#: 2 epochs of 4 steps, evaluated at the start and after each epoch.
SETTINGS = {
    "data.train": {"name": "synthetic", "identities": 4, "test_identities": 4}
    | {"cameras": 2, "shots": 4},
    "data.image_size": [64, 32],
    "data.batch": {"sampler": "identity", "identities": 2, "instances": 4},
    "data.workers": 0,
    "train.epochs": 2,
    "train.schedule": {"name": "constant"},
    "evaluate": {"every": 1, "at_start": True},
    "device": "cpu",
}


def test_every_hook_has_its_signature(page):
    section = page("docs/plugins.md").section("Hooks")
    for name, spec in HOOKS.items():
        signature = str(inspect.signature(spec)).replace("'", "")
        (block,) = section.section(name).blocks("py")
        assert block.text.strip() == f"def {name}{signature}"


def test_the_reference_has_the_hooks_in_their_order(page):
    headings = re.findall(r"^### (\w+)$", page("docs/plugins.md").section("Hooks").prose, re.M)
    assert [heading for heading in headings if heading in HOOKS] == list(HOOKS)


def test_hooks_named_in_running_text_exist(page):
    pattern = r"`((?:before|after|on|should|run|validate)_[a-z]+)`"
    for name in ("plugins", "training"):
        named = set(re.findall(pattern, page(f"docs/{name}.md").prose))
        assert named <= set(HOOKS)


class Recorder:
    """Counts the calls of every hook, and ends the run with its sixth step as it is told to."""

    def __init__(self, ending):
        self.ending = ending
        self.calls = Counter()

    @hookimpl
    def after_step(self, trainer, step):
        self.calls["after_step"] += 1
        if step == 5 and self.ending == "failed":
            raise RuntimeError("on purpose")
        if step == 5 and self.ending == "interrupted":
            trainer.request_stop(15)

    @hookimpl
    def should_stop(self, step):
        self.calls["should_stop"] += 1
        return "on purpose" if step == 5 and self.ending == "stopped" else None


def _counting(name):
    def count(self):
        self.calls[name] += 1

    return hookimpl(count)


for _name in set(HOOKS) - {"after_step", "should_stop", "validate_config"}:
    setattr(Recorder, _name, _counting(_name))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, picture_cache):
    """The calls and the run folder of a run for each outcome."""
    runs = {}
    folder = tmp_path_factory.mktemp("outcomes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REID_CACHE", str(picture_cache))
        for outcome in OUTCOMES:
            settings = SETTINGS | {"output": str(folder / outcome)}
            trainer = DefaultTrainer(load_config("osnet/osnet_x0_25", settings))
            recorder = Recorder(outcome)
            trainer.register_hooks([recorder])
            try:
                status = trainer.train().status
            except BaseException as error:
                status = "failed" if isinstance(error, RuntimeError) else "interrupted"
            assert status == outcome
            runs[outcome] = (recorder.calls, folder / outcome)
    return runs


def test_the_table_of_calls_is_what_happens(page, recorded):
    section = page("docs/training.md").section("How a run ends")
    table = section.tables()[1][1]
    documented = {cells[0].strip("`"): [int(cell) for cell in cells[1:]] for cells in table}
    expected = {
        name: [recorded[outcome][0][name] for outcome in OUTCOMES]
        for name in HOOKS
        if name != "validate_config"
    }
    assert documented == expected


def test_the_table_of_what_is_left_is_what_is_left(page, recorded):
    table = {
        cells[0]: cells[1:]
        for cells in page("docs/training.md").section("How a run ends").tables()[2][1]
    }
    for column, outcome in enumerate(OUTCOMES):
        folder = recorded[outcome][1]
        newest = max((folder / "checkpoints").glob("step_*.pt")).stem
        assert table["newest checkpoint"][column] == f"step {int(newest.partition('_')[2])}"
        results = json.loads((folder / "results.json").read_text())
        steps = ", ".join(str(entry["step"]) for entry in results["evaluations"])
        assert table["evaluated after steps"][column] == steps
        status = json.loads((folder / "status.json").read_text())["state"]
        assert table["`status.json`, `results.json`"][column] == status == results["outcome"]
        assert (folder / "report.html").is_file() == (table["`report.html`"][column] == "yes")


def test_the_table_of_outcomes_has_every_outcome(page):
    table = page("docs/training.md").section("How a run ends").tables()[0][1]
    assert tuple(cells[0].strip("`") for cells in table) == OUTCOMES


def test_the_run_folder_holds_what_the_page_lists(page, recorded):
    ((_, rows), (_, columns)) = page("docs/getting_started.md").section("The run folder").tables()
    folder = recorded["completed"][1]
    listed = {cells[0].strip("`").rstrip("/") for cells in rows}
    there = {path.name for path in folder.iterdir()}
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
    ((_, rows),) = page("docs/training.md").section("Checkpoints").tables()
    listed = {name for cells in rows for name in re.findall(r"`(\w+)`", cells[0])}
    path = max((recorded["completed"][1] / "checkpoints").glob("step_*.pt"))
    assert listed == set(torch.load(path, weights_only=True))
