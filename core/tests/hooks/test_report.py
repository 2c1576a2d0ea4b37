import json
from dataclasses import asdict
from types import SimpleNamespace

from reid_core.evaluation.detail import Detail
from reid_core.hooks.report import Report


def ended_in(folder):
    Report().after_train(trainer=SimpleNamespace(folder=SimpleNamespace(path=folder)))
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_a_run_without_details_has_a_report_and_no_plots(tmp_path):
    assert ended_in(tmp_path) == ["report.html"]


def test_the_numbers_behind_the_plots_of_described_evaluations_are_written(tmp_path):
    one = Detail("synthetic", 8, "market1501", "", "cosine", cmc=[0.5, 1.0])
    text = json.dumps({"schema": 1, "details": [asdict(one)]})
    (tmp_path / "details.json").write_text(text)
    assert ended_in(tmp_path) == ["details.json", "plots", "plots/synthetic-cmc.csv", "report.html"]
