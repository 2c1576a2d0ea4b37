"""Re-ranking is done once, whatever is made of it; sets together have all that each has alone."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from reid_core.cli.evaluate import main
from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.evaluation.rerankers.k_reciprocal import KReciprocal
from reid_core.testing import write_tiny_market


@pytest.fixture
def calls(monkeypatch):
    """Count how often distances are re-ranked."""
    made = []
    plain = KReciprocal.distances

    def counted(self, query, gallery, *, distance):
        made.append(len(query))
        return plain(self, query, gallery, distance=distance)

    monkeypatch.setattr(KReciprocal, "distances", counted)
    return made


@pytest.fixture
def trained(tiny_recipe, tmp_path):
    """A run on two test sets with one name for two identities, and its re-ranked figures."""
    other = tmp_path / "other"
    write_tiny_market(other)
    config = load_config(tiny_recipe, {"output": str(tmp_path / "run"), "train.epochs": 1})
    first = config.data.test_sets[0]
    second = {"name": "market1501", "root": str(other), "title": "other"}
    changes = {
        "output": str(tmp_path / "run"),
        "train.epochs": 1,
        "data.test": [first.as_call(), second],
        "evaluate.combine": True,
        "evaluate.rerank": ["k_reciprocal"],
    }
    return DefaultTrainer(load_config(tiny_recipe, changes))


def test_training_and_reid_eval_re_rank_each_set_once_and_describe_the_sets_together(
    trained, calls, tmp_path
):
    trained.resume_or_load()
    trained.train()
    assert len(calls) == 3, "two sets, and both as one"
    details = json.loads((trained.folder.path / "details.json").read_text())["details"]
    names = [one["dataset"] for one in details]
    assert names == ["market1501"] * 2 + ["other"] * 2 + ["market1501+other"] * 2
    both = details[-1]
    assert both["postprocessing"]
    assert {pid.split("/")[0] for pid in both["query_pids"]} == {"market1501", "other"}
    assert {one.split("/")[0] for one in both["camera_pairs"]["query_cameras"]} == {
        "market1501",
        "other",
    }
    assert trained.combined is None, "embeddings are not kept"

    calls.clear()
    arguments = ["--checkpoint", trained.folder.path, "--save-ranks", tmp_path / "ranks.json"]
    arguments += ["--output", tmp_path / "out"]
    result = CliRunner().invoke(main, [*map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    assert len(calls) == 3
    again = json.loads((tmp_path / "out" / "details.json").read_text())["details"]
    assert [one["dataset"] for one in again] == names
    assert [one["metrics"] for one in again] == [one["metrics"] for one in details]
    assert again[-1]["query_pids"] == both["query_pids"]

    rows = json.loads((tmp_path / "ranks.json").read_text())["rows"]
    together = [row for row in rows if row["dataset"] == "market1501+other"]
    counts = {row["query"] for row in together}
    alone = {row["query"] for row in rows if row["dataset"] != "market1501+other"}
    assert counts == alone
    for row in together:
        same = row["query_pid"] == row["pid"]
        assert row["match"] == same
    shown = json.loads((tmp_path / "out" / "ranks.json").read_text())["rankings"]
    assert "market1501+other" in {one["dataset"] for one in shown}
