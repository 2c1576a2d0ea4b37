"""The page's tracker goes on after its process was killed, and has a file for each run."""

from __future__ import annotations

import contextlib
import json
import re

from reid_core.engine import DefaultTrainer
from reid_core.hookspecs import hookimpl
from reid_core.testing.tiny_run import TinyRun, TinyTrainer


class Kill(BaseException):
    """Stands for a process that is gone."""


class KillAt:
    @hookimpl
    def after_step(self, trainer, step):
        if step == 5:
            # Gone without a word: the tracker is told nothing of the end.
            trainer.hooks.remove("mine")
            raise Kill


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_killed_run_goes_on_in_its_file_and_a_namesake_has_its_own(page, tmp_path):
    (block,) = page("docs/trackers.md").section("A tracker of your own").blocks("python")
    names: dict[str, object] = {"DefaultTrainer": DefaultTrainer}
    exec(re.split(r"^trainer = ", block.text, flags=re.M)[0], names)
    tracked = tmp_path / "tracked"

    def trainer(folder):
        made = TinyTrainer(TinyRun().config(folder))
        made.hooks.add(names["JsonLines"](folder=str(tracked)), id="mine")
        return made

    first = trainer(tmp_path)
    first.hooks.add(KillAt(), id="kill")
    with contextlib.suppress(Kill):
        first.train()
    (path,) = tracked.iterdir()
    again = trainer(tmp_path)
    again.resume_or_load("auto")
    assert again.start_iter > 0
    assert again.train().status == "completed"
    assert list(tracked.iterdir()) == [path]
    told = rows(path)
    assert [row["first_step"] for row in told if "first_step" in row] == [0, again.start_iter]
    assert told[-1]["status"] == "completed"
    assert [row["step"] for row in told if "train/loss" in row][:2] == [2, 4]
    other = tmp_path / "elsewhere"
    other.mkdir()
    assert trainer(other).train().status == "completed"
    assert len(list(tracked.iterdir())) == 2
    (theirs,) = set(tracked.iterdir()) - {path}
    assert rows(theirs)[0]["name"] == told[0]["name"], "they share a name"
    assert rows(path) == told
