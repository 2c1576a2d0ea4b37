"""B001 and B002 sorted labels, B003 joined sets."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reid_core.data.cameras import camera_codes
from reid_core.data.labels import LabelMap
from reid_core.data.manifest import Manifest
from reid_core.errors import DataError


def rows(pids, camids=None, name="set"):
    count = len(pids)
    return Manifest(
        name=name,
        root=Path(),
        paths=np.array([f"{row}.jpg" for row in range(count)], dtype=np.str_),
        pids=np.array(pids),
        camids=np.array(camids if camids is not None else [0] * count),
        splits=np.array(["train"] * count, dtype=np.str_),
    )


def test_labels_count_the_identities_in_sorted_order():
    manifest = rows([122, 3, 7, 3, 122, 7, 122, 3, 7, 122, 3, 7])
    label_map = LabelMap.of([manifest])
    assert label_map.num_classes == 3
    expected = {3: 0, 7: 1, 122: 2}
    assert label_map.labels([manifest]).tolist() == [expected[pid] for pid in manifest.pids]
    assert label_map.to_plain() == [{"dataset": "set", "pids": [3, 7, 122]}]


def test_text_identities_are_sorted_as_text():
    manifest = rows(["10", "9", "cam_b", "cam_a"])
    assert LabelMap.of([manifest]).labels([manifest]).tolist() == [0, 1, 3, 2]


SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from reid_core.data.cameras import camera_codes
from reid_core.data.labels import LabelMap
from reid_core.data.manifest import Manifest

is_text = sys.argv[1] == "text"
# A set of text: its order is another one with each PYTHONHASHSEED.
pids = list({f"pid_{i}" for i in range(50)}) if is_text else list(range(50, 0, -1))
cams = list({f"cam_{i % 7}" for i in range(50)}) * 8
manifest = Manifest(
    name="m", root=Path(), paths=np.array(pids).astype(str), pids=np.array(pids),
    camids=np.array(cams[:50]), splits=np.array(["train"] * 50),
)
labels = LabelMap.of([manifest]).labels([manifest]).tolist()
codes = camera_codes([manifest]).tolist()
print(sorted(zip(map(str, pids), labels)), sorted(set(zip(cams, codes))), file=sys.stdout)
print(pids[:5], file=sys.stderr)
"""


def test_the_map_is_the_same_in_every_process():
    answers, orders = {}, {}
    for kind in ("text", "integer"):
        for seed in ("0", "1"):
            done = subprocess.run(
                [sys.executable, "-c", SCRIPT, kind],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            )
            answers[kind, seed], orders[kind, seed] = done.stdout, done.stderr
    assert orders["text", "0"] != orders["text", "1"], "the processes saw the same order"
    for kind in ("text", "integer"):
        assert answers[kind, "0"] == answers[kind, "1"]


@pytest.mark.parametrize(("first", "second", "total"), [(751, 702, 1453), (767, 700, 1467)])
def test_classes_of_joined_sets_add_up(first, second, total):
    sets = [rows(range(first), name="a"), rows(range(second), name="b")]
    label_map = LabelMap.of(sets)
    labels = label_map.labels(sets)
    assert label_map.num_classes == total
    assert np.unique(labels).tolist() == list(range(total))
    assert not set(labels[:first]) & set(labels[first:])


def test_one_spelling_in_two_sets_means_two_people():
    sets = [rows(["5", "6"], name="a"), rows(["5", "6"], name="b")]
    assert LabelMap.of(sets).labels(sets).tolist() == [0, 1, 2, 3]


def test_sets_of_one_name_stay_apart_too():
    sets = [rows([0, 1, 2]), rows([0, 1, 2])]
    assert LabelMap.of(sets).labels(sets).tolist() == [0, 1, 2, 3, 4, 5]


def test_text_and_integer_sets_can_be_joined():
    sets = [rows(["b", "a"], ["x", "y"]), rows([7, 7], [2, 1])]
    assert LabelMap.of(sets).labels(sets).tolist() == [1, 0, 2, 2]
    assert camera_codes(sets).tolist() == [0, 1, 3, 2]


def test_cameras_of_joined_sets_never_share_a_code():
    sets = [
        rows(range(12), [c % 6 for c in range(12)]),
        rows(range(16), [c % 8 for c in range(16)]),
    ]
    codes = camera_codes(sets)
    assert np.unique(codes).tolist() == list(range(14))
    assert not set(codes[:12]) & set(codes[12:])


def test_camera_codes_are_sorted_and_start_at_0():
    assert camera_codes([rows(range(4), ["cam_b", "cam_a", "cam_b", "cam_c"])]).tolist() == [
        1, 0, 1, 2,
    ]  # fmt: skip


@pytest.mark.parametrize("stranger", [0, 5, 200])
def test_an_identity_that_was_not_trained_is_named(stranger):
    label_map = LabelMap.of([rows([3, 7, 122])])
    with pytest.raises(DataError, match=f"identity {stranger} is not among the 3 training"):
        label_map.labels([rows([3, stranger])])


def test_text_is_not_taken_for_the_integer_it_spells():
    with pytest.raises(DataError, match="identity 3 is not among"):
        LabelMap.of([rows([3, 7])]).labels([rows(["3"])])


def test_an_empty_map_knows_nobody():
    empty = LabelMap.of([rows([3]).take(np.array([], dtype=np.intp))])
    assert empty.num_classes == 0
    with pytest.raises(DataError, match="identity 3 is not among the 0"):
        empty.labels([rows([3])])
