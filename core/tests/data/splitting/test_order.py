from __future__ import annotations

from pathlib import Path

import numpy as np

from reid_core.data.manifest import Manifest
from reid_core.data.splitting.order import in_order, row_texts, shuffled


def manifest(paths: list[str], **columns: np.ndarray) -> Manifest:
    count = len(paths)
    return Manifest(
        name="x",
        root=Path("x"),
        paths=np.array(paths),
        pids=np.arange(count),
        camids=np.zeros(count, dtype=np.int64),
        splits=np.array(["train"] * count),
        columns=columns,
    )


def test_the_order_is_that_of_every_machine() -> None:
    # Computed once; blake2b is the same everywhere.
    assert shuffled(["anna", "ben", "cleo", "dora"], 0, "identity") == [
        "dora", "ben", "anna", "cleo"
    ]  # fmt: skip


def test_seed_and_kind_give_other_orders() -> None:
    names = [str(number) for number in range(50)]
    orders = {tuple(shuffled(names, seed, kind)) for seed in (0, 1) for kind in ("a", "b")}
    assert len(orders) == 4
    assert all(sorted(order) == sorted(names) for order in orders)


def test_one_name_more_leaves_the_order_of_the_others() -> None:
    names = [str(number) for number in range(50)]
    without = shuffled(names[:-1], 3, "identity")
    assert [name for name in shuffled(names, 3, "identity") if name != "49"] == without


def test_rows_are_sorted_by_path_and_box() -> None:
    boxes = np.array([[5.0, 0, 2, 2], [1.0, 0, 2, 2], [np.nan] * 4])
    rows, texts = in_order(manifest(["b", "b", "a"], boxes=boxes))
    assert rows.paths.tolist() == ["a", "b", "b"]
    assert rows.pids.tolist() == [2, 1, 0]
    assert texts == sorted(texts)


def test_two_boxes_of_an_image_have_different_texts() -> None:
    boxes = np.array([[0.0, 0, 2, 2], [0.0, 0, 2, 3]])
    assert len(set(row_texts(manifest(["a", "a"], boxes=boxes)))) == 2
