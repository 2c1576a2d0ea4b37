"""``reid-data check`` on real drawings: it names what is broken in a copy, and nothing else."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from reid_core.cli.data import main


def _load(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


planted = _load("planted_faults")


def check(*arguments):
    result = CliRunner().invoke(main, ["check", *map(str, arguments)])
    assert result.exit_code in (0, 2, 3), result.output
    return result


def check_plain(*arguments):
    result = check(*arguments, "--json")
    return json.loads(result.stdout), result.exit_code


def copy_part(source, target, *, train=66, test=26):
    """Copy some identities of a set in Market's layout."""
    parts = {planted.TRAIN: train, planted.QUERY: test, planted.GALLERY: test}
    for folder, number in parts.items():
        (target / folder).mkdir(parents=True)
        for identity in planted.identities(source, folder)[:number]:
            for path in planted.images(source, folder, identity):
                shutil.copy(source / path, target / path)
    return target


def test_nothing_is_found_in_the_clean_drawings(shared_data):
    plain, code = check_plain(shared_data / "omniglot_reid")
    assert plain["findings"] == []
    assert plain["images_decoded"] is True
    assert code == 0
    assert plain["counts"][0] == {
        "dataset": "market1501",
        "split": "train",
        "images": 2720,
        "identities": 136,
        "cameras": 5,
    }


@pytest.fixture(scope="module")
def broken(shared_data, tmp_path_factory):
    """A copy of a part of the drawings with every fault in it, and what was planted."""
    root = copy_part(shared_data / "omniglot_reid", tmp_path_factory.mktemp("drawings") / "copy")
    planter = planted.Planter(root)
    faults = {name: plant(planter) for name, plant in planted.FAULTS.items()}
    plain, code = check_plain(root)
    return faults, plain, code


def test_more_than_twenty_different_faults_are_planted(broken):
    faults, _, _ = broken
    assert len({fault.code for fault in faults.values()}) >= 30
    assert len(faults) >= 50


@pytest.mark.parametrize("name", planted.FAULTS)
def test_a_planted_fault_is_named_with_its_file(name, broken):
    faults, plain, _ = broken
    fault = faults[name]
    examples = [e for f in plain["findings"] if f["code"] == fault.code for e in f["examples"]]
    assert any(example.startswith(fault.example) for example in examples), examples


def test_nothing_else_is_found_in_the_broken_copy(broken):
    faults, plain, code = broken
    found = {finding["code"] for finding in plain["findings"]}
    assert found == {fault.code for fault in faults.values()}
    assert code == 3
    planted_copies = [fault for fault in faults.values() if "duplicates" in fault.code]
    told = sum(f["count"] for f in plain["findings"] if "duplicates" in f["code"])
    assert told == len(planted_copies)


@pytest.fixture
def market(tiny_market, tmp_path):
    """A copy of the tiny set without the gallery images that are those of the queries."""
    root = shutil.copytree(tiny_market, tmp_path / "copy")
    for path in (root / "bounding_box_test").glob("*_000000_00.png"):
        path.unlink()
    return root


def test_the_text_says_what_is_wrong_where_and_what_to_do(market):
    (market / "query" / "0007_c1s1_000000_00.png").write_bytes(b"")
    result = check(market)
    assert result.exit_code == 3
    assert "market1501: query 8 images of 4 identities, 2 cameras" in result.output
    assert "error broken-images: market1501: 1 image of 72 cannot be read" in result.output
    assert "\n    query/0007_c1s1_000000_00.png: empty (0 bytes)\n" in result.output
    assert "\n  -> repair or remove them, or set data.broken_images=skip" in result.output
    assert result.output.endswith("1 error\n")


def test_no_images_opens_none(market):
    (market / "query" / "0007_c1s1_000000_00.png").write_bytes(b"")
    result = check(market, "--no-images")
    assert result.exit_code == 0
    assert result.output.endswith("nothing found; no image was opened\n")


def test_near_copies_can_be_left_out(market):
    image = market / "bounding_box_train" / "0001_c1s1_000000_00.png"
    with Image.open(image) as opened:
        copy = opened.resize((24, 48))
    copy.save(market / "bounding_box_test" / "0007_c2s1_900000_00.png")
    found, _ = check_plain(market)
    assert [one["code"] for one in found["findings"]] == ["near-duplicates-train-and-test"]
    found, code = check_plain(market, "--no-near-duplicates")
    assert (found["findings"], found["images_decoded"], code) == ([], True, 0)


def test_strict_takes_warnings_for_errors(market):
    (market / "query" / "notes.txt").write_text("to do", encoding="utf-8")
    lenient, lenient_code = check_plain(market, "--no-images")
    strict, strict_code = check_plain(market, "--no-images", "--strict")
    assert (lenient["errors"], lenient["warnings"], lenient_code) == (0, 1, 0)
    assert (strict["errors"], strict["warnings"], strict_code) == (1, 0, 3)
    assert strict["schema"] == 1


@pytest.fixture
def one_camera(tmp_path):
    """B038: two identities in query and gallery, all of camera 0, as a table."""
    rows = ["path,pid,camid,split"]
    for number, (pid, split) in enumerate(
        [(1, "query"), (2, "query"), (1, "gallery"), (1, "gallery"), (2, "gallery"), (2, "gallery")]
        + [(pid, "train") for pid in (3, 4) for _ in range(2)]
    ):
        pixels = np.random.default_rng(number).integers(0, 256, (16, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
        rows.append(f"{number}.png,{pid},0,{split}")
    table = tmp_path / "images.csv"
    table.write_text("\n".join(rows), encoding="utf-8")
    return table


def test_case_b038_one_camera_leaves_nothing_to_measure(one_camera):
    result = check(one_camera)
    assert result.exit_code == 3
    assert "0 of 2 queries have a cross-camera match" in result.output
    assert "splits query and gallery" in result.output
    assert "--set evaluate.protocol=no_camera" in result.output


def test_case_b038_with_the_protocol_that_is_named_it_is_no_error(one_camera, tmp_path):
    recipe = tmp_path / "mine.yaml"
    recipe.write_text(
        "extends: osnet/osnet_x0_25\n"
        f"data: {{train: {{name: csv, file: '{one_camera.as_posix()}'}}}}\n",
        encoding="utf-8",
    )
    refused = check(recipe)
    assert refused.exit_code == 3, refused.output
    assert check(recipe, "--set", "evaluate.protocol=no_camera").exit_code == 0


def test_case_b039_without_cameras_the_filter_is_said_to_be_off(one_camera):
    lines = one_camera.read_text(encoding="utf-8").splitlines()
    cells = [line.split(",") for line in lines]
    text = "\n".join(",".join((path, pid, split)) for path, pid, _, split in cells)
    one_camera.write_text(text, encoding="utf-8")
    plain, code = check_plain(one_camera)
    assert code == 0
    (finding,) = [f for f in plain["findings"] if f["code"] == "no-cameras"]
    assert finding["severity"] == "info"
    assert "camera filter off" in finding["message"]


def test_case_b013_every_bad_file_is_listed(market):
    jpeg = market / "query" / "0008_c1s1_000000_00.jpg"
    noise = np.random.default_rng(0).integers(0, 256, (64, 32, 3), dtype=np.uint8)
    Image.fromarray(noise).save(jpeg)
    jpeg.write_bytes(jpeg.read_bytes()[: jpeg.stat().st_size // 2])
    (market / "query" / "0007_c1s1_000000_00.png").write_bytes(b"")
    plain, _ = check_plain(market)
    (finding,) = [f for f in plain["findings"] if f["code"] == "broken-images"]
    names = [example.partition(":")[0] for example in finding["examples"]]
    assert names == ["query/0007_c1s1_000000_00.png", "query/0008_c1s1_000000_00.jpg"]


def test_case_b020_what_systems_leave_behind_is_not_counted(market):
    for name in ("._0001_c1s1_000001_00.jpg", "Thumbs.db", ".DS_Store", "desktop.ini"):
        (market / "query" / name).write_bytes(b"x")
    (market / "query" / "x.jpg").mkdir()
    plain, code = check_plain(market)
    assert plain["counts"][1]["images"] == 8
    found = {finding["code"]: finding["count"] for finding in plain["findings"]}
    assert found == {"stray-files": 1, "system-files": 4}
    assert code == 0
