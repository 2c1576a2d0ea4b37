import re

import pytest

from reid_core.errors import ReidError, UsageError
from reid_core.report import write_report


def test_the_report_lies_in_the_run_folder_and_nothing_else_does(full_run):
    before = {path.name for path in full_run.iterdir()}
    assert write_report(full_run) == full_run / "report.html"
    assert {path.name for path in full_run.iterdir()} == before | {"report.html"}


def test_the_same_folder_gives_the_same_bytes(full_run):
    first = write_report(full_run).read_bytes()
    assert write_report(full_run).read_bytes() == first


def test_the_page_is_well_formed_and_loads_nothing_from_outside(full_run, parse):
    page = parse(write_report(full_run))
    links = [
        value
        for _, attrs in page.elements
        for name, value in attrs.items()
        if name in ("src", "href", "srcset", "xlink:href", "data", "action")
    ]
    assert links
    assert all(value.startswith("data:") for value in links)
    style = re.search(r"<style>(.*?)</style>", page.html, re.DOTALL).group(1)
    assert "url(" not in style
    assert "@import" not in style
    assert not page.tags("script")


def test_every_text_of_the_files_is_escaped(full_run, parse, nasty_name):
    page = parse(write_report(full_run))
    tags = {tag for tag, _ in page.elements}
    assert tags.isdisjoint({"b", "i", "script", "left"})
    assert "<script>alert(1)</script>" in page.text
    assert 'run <b>bold & "Łódź"' in page.text
    assert "same identity & same camera <left out>" in page.text
    assert f"1 {nasty_name}" in {attrs["alt"] for attrs in page.tags("img")}


def test_an_empty_run_folder_gives_a_page_that_says_what_is_missing(tmp_path, parse):
    page = parse(write_report(tmp_path))
    for name in ("metrics.jsonl", "results.json", "ranks.json", "components.json", "config.yaml"):
        assert f"{name} is missing" in page.text
    assert "there is no mAP and no rank-1 to show" in page.text
    assert "there are no curves to draw" in page.text
    assert not page.tags("img")


def test_a_name_that_is_no_unicode_can_be_written(tmp_path, write_run, parse):
    query = {"path": "/x/\udcff.png", "pid": 1, "camid": 1}
    one = {"dataset": "d", "selection": "best", "query": query, "ap": 1.0, "results": []}
    write_run(tmp_path, ranks={"schema": 1, "rankings": [one]})
    assert r"\udcff.png" in parse(write_report(tmp_path)).text


def test_ten_thousand_rows_give_a_small_page(tmp_path, write_run, parse):
    rows = [
        {"step": n, "epoch": n / 100, "loss": 7 - n % 97 / 50, "loss/a": n % 13, "lr": 1e-4}
        for n in range(1, 10_001)
    ]
    rows += [{"step": n, "d/mAP": n / 20_000, "d/rank1": n / 10_000} for n in range(1, 10_001)]
    path = write_report(write_run(tmp_path / "run", metrics=rows))
    assert path.stat().st_size < 200_000
    assert len(parse(path).with_class("chart")) == 4


def test_a_folder_that_is_not_there_is_a_usage_error_naming_it(tmp_path):
    with pytest.raises(UsageError, match=r"nowhere: it is not a folder; expected a run folder"):
        write_report(tmp_path / "nowhere")


def test_a_report_that_cannot_be_written_is_our_error_and_leaves_no_temporary(tmp_path):
    (tmp_path / "report.html").mkdir()
    with pytest.raises(ReidError, match=r"cannot write .*report\.html: .*; expected a folder"):
        write_report(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
