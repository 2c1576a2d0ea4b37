"""From raw files to a trained, evaluated model: the commands of the page, word for word."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from reid_core.cli import data as data_commands
from reid_core.cli import train as train_command
from reid_core.testing import write_tiny_market

PAGE = Path(__file__).resolve().parents[2] / "docs" / "own_data.md"
#: What makes a recipe small enough for a test; it says nothing of the data.
TINY = [
    "data.image_size=[32, 16]", "data.workers=0", "data.batch={identities: 3, instances: 2}",
    "epochs=1", "schedule.warmup=null", "output=run",
]  # fmt: skip


def commands(heading):
    """Return the commands below a heading, each as its words."""
    section = re.search(
        rf"^##+ {re.escape(heading)}$(.*?)(?=^##|\Z)", PAGE.read_text(encoding="utf-8"), re.M | re.S
    )
    (block,) = re.findall(r"^```sh\n(.*?)^```", section[1], re.M | re.S)
    return [shlex.split(line) for line in block.splitlines()]


def noise(path, colour, size=(16, 32)):
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(len(path.name)).integers(0, 60, (size[1], size[0], 3))
    Image.fromarray((pixels + colour * 15).astype(np.uint8)).save(path)


def write_animals(root):
    for pid in range(8):
        for shot in range(4):
            place = "night/" if shot == 3 else ""
            noise(root / f"animals/animal {pid} #ä/{place}{shot:04d}.jpg", pid)


def write_crops(root):
    for pid in range(8):
        for camera in ("north", "south"):
            for frame in range(2):
                noise(root / f"crops/{camera}/zebra-{pid}_{frame:04d}.jpg", pid)


def write_images_csv(root):
    lines = ["path,pid,camid,species"]
    for pid in range(8):
        for shot in range(4):
            noise(root / f"images/{pid}_{shot}.jpg", pid)
            lines.append(
                f"images/{pid}_{shot}.jpg,animal {pid},{('north', 'south')[shot % 2]},zebra"
            )
    (root / "images.csv").write_text("\n".join(lines), encoding="utf-8")


def write_mot(root):
    sequence = root / "MOT16/train/MOT16-02"
    lines = []
    for frame in range(1, 42):
        noise(sequence / f"img1/{frame:06d}.jpg", frame % 8, (64, 40))
        lines += [f"{frame},{track},{1 + 8 * track},1,8,30,1,1,1" for track in range(8)]
    (sequence / "gt").mkdir()
    (sequence / "gt/gt.txt").write_text("\n".join(lines))
    (sequence / "seqinfo.ini").write_text("[Sequence]\nframeRate=30\nimWidth=64\nimHeight=40\n")


def write_zoo(root):
    images, annotations = [], []
    for number in range(32):
        name = f"S{number % 2}/{number:04d}.jpg"
        noise(root / "zoo/images" / name, number // 4)
        image = {"id": number, "file_name": name, "location": f"S{number % 2}"}
        images.append({**image, "datetime": f"2024-05-{1 + number % 28:02d} 12:00:00"})
        annotation = {"id": number, "image_id": number, "category_id": 1, "bbox": [2, 4, 20, 25]}
        annotations.append({**annotation, "individual_id": f"lion {number // 4}"})
    content = {"images": images, "annotations": annotations}
    content["categories"] = [{"id": 1, "name": "lion"}]
    (root / "zoo/zoo.json").write_text(json.dumps(content))


def write_market(root):
    write_tiny_market(root / "mine")


def write_nyala(root):
    for path in sorted((write_tiny_market(root / "nyala")).glob("*/*.png")):
        Image.open(path).save(path.with_suffix(".jpg"))
        path.unlink()


@pytest.fixture
def typed(tmp_path, monkeypatch):
    """Run commands of ours in the test's folder, training made tiny; return what they print."""
    monkeypatch.chdir(tmp_path)

    def run(words):
        name, *rest = words
        main = {"reid-data": data_commands.main, "reid-train": train_command.main}[name]
        if name == "reid-train":
            rest = [word for setting in TINY for word in ("--set", setting)] + rest
        result = CliRunner().invoke(main, rest)
        assert result.exit_code == 0, result.output
        return result.output

    return run


@pytest.mark.parametrize(
    ("heading", "write", "protocol", "expected"),
    [
        ("Folders", write_animals, "no_camera", "cameras not known"),
        ("Patterns", write_crops, "market1501", "2 cameras"),
        ("Encounters as cameras", write_nyala, "market1501", "2 cameras"),
        ("Tables", write_images_csv, "market1501", "2 cameras"),
        ("Tracks", write_mot, "no_camera", "cameras not known"),
        ("COCO files", write_zoo, "market1501", "2 cameras"),
        ("Market-1501's names", write_market, "market1501", "2 cameras"),
    ],
)
def test_the_commands_of_the_page_lead_from_files_to_an_evaluated_model(
    heading, write, protocol, expected, typed, tmp_path
):
    write(tmp_path)
    lines = commands(heading)
    assert len(lines) <= 2
    printed = [typed(words) for words in lines]
    assert expected in printed[-1]
    assert f"(protocol {protocol}, cosine distance)" in printed[-1]
    assert ("camera filter off" in printed[-1]) == (protocol == "no_camera")
    evaluations = json.loads((tmp_path / "run/results.json").read_text())["evaluations"]
    assert evaluations[-1]["protocol"] == protocol
    assert 0 < evaluations[-1]["metrics"]["mAP"] <= 100
    assert (tmp_path / "run/weights/last.safetensors").is_file()


def test_boxes_and_times_of_tracks_reach_the_table(typed, tmp_path):
    write_mot(tmp_path)
    typed(commands("Tracks")[0])
    header, first, *_ = (tmp_path / "tracks.csv").read_text().splitlines()
    row = dict(zip(header.split(","), first.split(","), strict=True))
    assert "camid" not in row
    assert row["path"] == "MOT16/train/MOT16-02/img1/000001.jpg"
    sequence, track = row["pid"].split("/")
    assert [float(row[name]) for name in "xywh"] == [8 * int(track), 0, 8, 30]
    assert (sequence, float(row["times"]), row["frames"]) == ("MOT16-02", 0, "1")


def test_real_animals_are_a_folder_set_with_encounters_as_cameras(typed, shared_data, tmp_path):
    (tmp_path / "nyala").symlink_to(shared_data / "nyala_reid", target_is_directory=True)
    (train,) = commands("Encounters as cameras")
    printed = typed([*train, "--set", "data.batch={identities: 16, instances: 4}"])
    assert "nyala: train 1213 images of 179 ids, query 108 images of 54 ids, " in printed
    assert "gallery 621 images of 58 ids, 6 cameras" in printed
    assert "(protocol market1501, cosine distance" in printed
