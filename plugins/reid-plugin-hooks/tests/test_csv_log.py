from __future__ import annotations

import csv
import json
import math
from types import SimpleNamespace

import pytest

from reid_plugin_hooks.csv_log import CsvLog


def trainer_in(folder, start_iter=0, pending_since=None):
    return SimpleNamespace(
        folder=SimpleNamespace(path=folder),
        start_iter=start_iter,
        data_loader=[None] * 4,
        meter=SimpleNamespace(pending_since=pending_since),
    )


def write(folder, rows, start_iter=0, file="metrics.csv", pending_since=None):
    hook, trainer = CsvLog(file=file), trainer_in(folder, start_iter, pending_since)
    hook.before_train(trainer)
    for step, scalars in rows:
        hook.on_log(trainer, step, scalars)
    return (folder / file).read_text(encoding="utf-8")


def test_a_step_is_a_row_and_a_number_a_column(tmp_path):
    text = write(tmp_path, [(2, {"loss": 1.5, "lr": 0.1}), (4, {"loss": 0.1 + 0.2, "lr": 1})])
    assert text == "step,epoch,loss,lr\n2,0.5,1.5,0.1\n4,1.0,0.30000000000000004,1.0\n"


def test_columns_that_come_later_are_empty_in_earlier_rows(tmp_path):
    text = write(tmp_path, [(2, {"loss": 1.0}), (4, {"lr": 0.1}), (6, {"loss": 3.0, "b,c": 2.0})])
    assert text == ('step,epoch,loss,lr,"b,c"\n2,0.5,1.0,,\n4,1.0,,0.1,\n6,1.5,3.0,,2.0\n')


def test_a_row_that_a_failure_cut_short_is_dropped_by_the_run_that_goes_on(tmp_path):
    write(tmp_path, [(2, {"loss": 1.0, "lr": 0.1}), (3, {"loss": 7.0, "lr": 0.1})])
    text = write(tmp_path, [(4, {"loss": 5.0, "lr": 0.1})], start_iter=3, pending_since=2)
    assert text == "step,epoch,loss,lr\n2,0.5,1.0,0.1\n4,1.0,5.0,0.1\n"


def test_what_a_step_logs_at_several_moments_is_one_row(tmp_path):
    rows = [(4, {"loss": 1.0}), (4, {"set/mAP": 0.5}), (8, {"loss": 2.0}), (8, {"set/mAP": 0.75})]
    text = write(tmp_path, [*rows, (8, {"loss": 2.125}), (8, {"loss": 2.5}), (12, {"loss": 3.0})])
    assert text == "step,epoch,loss,set/mAP\n4,1.0,1.0,0.5\n8,2.0,2.5,0.75\n12,3.0,3.0,\n"


def test_a_step_that_is_logged_late_gets_to_its_place(tmp_path):
    rows = [(2, {"a": 1.0}), (6, {"a": 3.0}), (4, {"a": 2.0}), (2, {"a": 9.0}), (8, {"a": 4.0})]
    assert write(tmp_path, rows) == "step,epoch,a\n2,0.5,9.0\n4,1.0,2.0\n6,1.5,3.0\n8,2.0,4.0\n"


def test_what_is_not_finite_can_be_read_back(tmp_path):
    write(tmp_path, [(1, {"a": math.nan, "b": math.inf})])
    (row,) = csv.DictReader((tmp_path / "metrics.csv").open(encoding="utf-8"))
    assert math.isnan(float(row["a"]))
    assert float(row["b"]) == math.inf


def test_steps_that_a_resumed_run_does_again_replace_the_old_ones(tmp_path):
    write(tmp_path, [(2, {"loss": 1.0}), (4, {"loss": 2.0}), (6, {"loss": 3.0, "gone": 1.0})])
    text = write(tmp_path, [(6, {"loss": 9.0}), (8, {"loss": 8.0, "new": 7.0})], start_iter=4)
    assert text == "step,epoch,loss,new\n2,0.5,1.0,\n4,1.0,2.0,\n6,1.5,9.0,\n8,2.0,8.0,7.0\n"


def test_a_line_that_a_crash_has_cut_is_dropped(tmp_path):
    write(tmp_path, [(2, {"loss": 1.0, "lr": 2.0}), (4, {"loss": 2.0, "lr": 2.0})])
    path = tmp_path / "metrics.csv"
    for cut in ("", "4", "4,1.0,2"):
        path.write_text(f"step,epoch,loss,lr\n2,0.5,1.0,2.0\n{cut}", encoding="utf-8")
        assert write(tmp_path, [], start_iter=4) == "step,epoch,loss,lr\n2,0.5,1.0,2.0\n"
    path.write_text("", encoding="utf-8")
    assert write(tmp_path, [], start_iter=4) == "step,epoch\n"


def test_a_new_run_begins_a_new_table(tmp_path):
    write(tmp_path, [(0, {"set/mAP": 0.1}), (2, {"loss": 1.0})], file="other.csv")
    assert write(tmp_path, [(1, {"lr": 1.0})], file="other.csv") == "step,epoch,lr\n1,0.25,1.0\n"


def test_a_table_that_was_taken_away_is_written_anew(tmp_path):
    hook, trainer = CsvLog(), trainer_in(tmp_path)
    hook.before_train(trainer)
    hook.on_log(trainer, 2, {"loss": 1.0})
    (tmp_path / "metrics.csv").unlink()
    hook.on_log(trainer, 4, {"loss": 2.0})
    text = (tmp_path / "metrics.csv").read_text(encoding="utf-8")
    assert text == "step,epoch,loss\n2,0.5,1.0\n4,1.0,2.0\n"


def table_of(folder):
    """Return the rows of a table by step, without what depends on the clock."""
    with (folder / "metrics.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({row["step"] for row in rows}) == len(rows)
    return [{k: v for k, v in row.items() if not k.startswith("time/")} for row in rows]


@pytest.mark.parametrize("until", [3, 4, 6])
def test_a_resumed_run_has_the_table_of_the_whole_one(tiny, tmp_path, until):
    hooks = [{"name": "csv"}, {"name": "gradient_norm", "every": 3}]
    tiny(*hooks, run="whole").run()
    tiny(*hooks).run(until=until)
    tiny(*hooks).run()
    table = table_of(tmp_path / "run")
    assert table == table_of(tmp_path / "whole")
    assert [row["step"] for row in table] == ["2", "3", "4", "6", "8"]


def test_the_table_holds_what_the_log_of_the_run_holds(tiny, tmp_path):
    tiny({"name": "csv"}, {"name": "gradient_norm", "every": 3}).run()
    rows = {int(row["step"]): row for row in table_of(tmp_path / "run")}
    logged = (tmp_path / "run/metrics.jsonl").read_text(encoding="utf-8").splitlines()
    for line in map(json.loads, logged):
        for name, value in line.items():
            if not name.startswith("time/"):
                assert float(rows[line["step"]][name]) == value, name
