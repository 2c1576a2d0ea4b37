"""Tiny copies of the sets of animals, in their real layout."""

from __future__ import annotations

import json
from pathlib import Path

from reid_plugin_datasets.testing.images import write_image


def write_atrw(root: Path) -> Path:
    """Write two sides of tigers to train on, one in two recordings, and one in a single one."""
    trained = {"000001.jpg": 12, "000005.jpg": 12, "000002.jpg": 199}
    tested = {
        4096: ("multi", 235, [31, 4, 1089]),
        6: ("sing", 73, [4, 3, 2070]),
        10: ("multi", 235, [30, 1, 111]),
        11: ("sing", 73, [4, 3, 2090]),
    }
    for image in trained:
        write_image(root / "atrw_reid_train" / "train" / image)
    for number in tested:
        write_image(root / "atrw_reid_test" / "test" / f"{number:06d}.jpg")
    lines = "".join(f"{entity},{image}\n" for image, entity in trained.items())
    _write(root / "atrw_anno_reid_train" / "reid_list_train.csv", lines)
    truth = [
        {"query": query, "entityid": entity, "frame": frame, "imgid": number}
        for number, (query, entity, frame) in tested.items()
    ]
    file = root / "ATRWEvalScript-main" / "annotations" / "gt_test_plain.json"
    _write(file, json.dumps(truth))
    return root


def write_wildlife(root: Path) -> Path:
    """Write two giraffes and a zebra in boxes of photographs, and an unknown one."""
    rows = [
        ("giraffe_2", "images/a.jpg", "[0, 1, 3, 6]", "2021-05-03 14:07:11", "left", "giraffe"),
        ("giraffe_10", "images/a.jpg", "[1, 0, 2, 8]", "2021-05-03 14:07:11", "right", "giraffe"),
        ("giraffe_2", "images/b.jpg", "", "2021-05-04", "right", "giraffe"),
        ("unknown", "images/c.jpg", "[0, 0, 4, 8]", "", "", "zebra"),
        ("zebra_1", "images/c.jpg", "[0, 0, 4, 8]", "some day in May", "", "zebra"),
    ]
    lines = ["image_id,identity,path,bbox,date,orientation,species"]
    for number, (identity, path, box, date, side, species) in enumerate(rows):
        write_image(root / path)
        lines.append(f'{number},{identity},{path},"{box}",{date},{side},{species}')
    _write(root / "metadata.csv", "\n".join(lines) + "\n")
    return root


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
