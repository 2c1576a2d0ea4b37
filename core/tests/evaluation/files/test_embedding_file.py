"""Embeddings of any tool come in, and what is written comes back."""

import importlib
import logging
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from reid_core.errors import DataError, UsageError
from reid_core.evaluation import evaluate_retrieval, market1501, no_camera
from reid_core.evaluation.files.embedding_file import read_embeddings, write_embeddings
from reid_core.evaluation.files.embedding_set import EmbeddingSet, Side

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(6, 4)).astype(np.float32)
PIDS = np.array([1, 2, 1, 2, 0, -1])
CAMIDS = np.array([1, 1, 2, 2, 3, 3])


def two_sided(**changes):
    """Two queries and four gallery entries in the documented layout."""
    columns = {"features": FEATURES, "pids": PIDS, "camids": CAMIDS}
    arrays = {}
    for name, column in columns.items():
        arrays[f"query_{name}"], arrays[f"gallery_{name}"] = column[:2], column[2:]
    return {name: one for name, one in {**arrays, **changes}.items() if one is not None}


def read(tmp_path, arrays, **options):
    np.savez(tmp_path / "set.npz", **arrays)
    return read_embeddings(tmp_path / "set.npz", **options)


def renamed(**names):
    arrays = two_sided()
    return {names.get(key, key): array for key, array in arrays.items()}


@pytest.mark.parametrize(
    "arrays",
    [
        two_sided(),
        renamed(
            query_features="qf",
            gallery_features="gf",
            query_pids="q_pids",
            gallery_pids="g_pids",
            query_camids="q_camids",
            gallery_camids="g_camids",
        ),
        renamed(
            query_features="q_feat",
            gallery_features="g_feat",
            query_pids="q_pids",
            gallery_pids="g_pids",
            query_camids="q_cams",
            gallery_camids="g_cams",
        ),
        {
            "features": FEATURES,
            "pids": PIDS,
            "camids": CAMIDS,
            "split": np.array(["query"] * 2 + ["gallery"] * 4),
        },
    ],
    ids=["documented", "qf", "q_feat", "one table"],
)
def test_the_layouts_of_other_tools_are_understood(tmp_path, arrays):
    found = read(tmp_path, arrays)
    assert found.name == "set"
    assert found.has_cameras
    assert torch.equal(found.query.features, torch.from_numpy(FEATURES[:2]))
    assert torch.equal(found.gallery.features, torch.from_numpy(FEATURES[2:]))
    assert found.gallery.labels.pids.tolist() == [1, 2, 0, -1]
    assert found.gallery.labels.camids.tolist() == [2, 2, 3, 3]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_every_precision_becomes_float32(tmp_path, kind):
    features = FEATURES.astype(kind)
    found = read(tmp_path, two_sided(query_features=features[:2], gallery_features=features[2:]))
    assert found.query.features.dtype == torch.float32
    assert np.array_equal(found.query.features.numpy(), features[:2].astype(np.float32))


def test_text_is_numbered_in_sorted_order_over_both_sides(tmp_path):
    # Case B049: identities as text, 'id_7'.
    found = read(
        tmp_path,
        two_sided(
            query_pids=np.array(["id_7", "id_10"]),
            gallery_pids=np.array(["id_10", "id_7", "id_9", "-1"]),
        ),
    )
    assert found.query.labels.pids.tolist() == [2, 1]
    assert found.gallery.labels.pids.tolist() == [1, 2, 3, -1]
    assert found.describe(0)["pid"] == "id_7"
    assert found.describe(3) == {"path": "", "pid": "id_7", "camid": "2"}


def test_ids_in_a_column_of_their_own_or_as_whole_floats_are_ids(tmp_path):
    found = read(
        tmp_path, two_sided(query_pids=PIDS[:2, None], gallery_pids=PIDS[2:].astype(float))
    )
    assert found.query.labels.pids.tolist() == [1, 2]
    assert found.gallery.labels.pids.tolist() == [1, 2, 0, -1]


def test_without_cameras_the_set_says_so(tmp_path):
    found = read(tmp_path, two_sided(query_camids=None, gallery_camids=None))
    assert not found.has_cameras
    assert found.query.labels.camids.tolist() == [0, 0]


def test_further_columns_and_names_are_kept(tmp_path):
    paths = np.array(["a/1.jpg", "b/1.jpg"])
    found = read(
        tmp_path,
        two_sided(
            query_paths=paths, query_modalities=np.array(["rgb", "ir"]), gallery_viewids=PIDS[2:]
        ),
    )
    assert found.describe(1)["path"] == "b/1.jpg"
    assert found.query.labels.column("modalities").tolist() == ["rgb", "ir"]
    assert "viewids" in found.gallery.labels.columns


def test_of_several_names_a_row_the_first_is_shown(tmp_path):
    # Case B158: a tuple of paths, and a further field.
    paths = np.array([["a/1.jpg", "a/2.jpg"], ["b/1.jpg", "b/2.jpg"]])
    found = read(tmp_path, two_sided(query_paths=paths, query_dsetid=np.array([0, 1])))
    assert found.describe(1)["path"] == "b/1.jpg"
    assert found.query.labels.column("dsetid").tolist() == [0, 1]


def test_a_table_without_split_is_a_pool_of_queries(tmp_path):
    found = read(tmp_path, {"features": FEATURES, "pids": PIDS})
    assert (len(found.query), len(found.gallery)) == (6, 0)


def test_rows_of_other_splits_are_left_out_and_said_to_be(tmp_path, caplog):
    split = np.array(["train"] * 2 + ["query"] * 2 + ["gallery"] * 2)
    with caplog.at_level(logging.INFO, logger="reid_core"):
        found = read(tmp_path, {"features": FEATURES, "pids": PIDS, "split": split})
    assert (len(found.query), len(found.gallery)) == (2, 2)
    assert "2 rows of split train are left out" in caplog.text


def test_keys_that_mean_nothing_are_named(tmp_path, caplog):
    read(tmp_path, two_sided(distmat=np.zeros(3)))
    assert "not used: distmat" in caplog.text


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            two_sided(gallery_pids=None, galery_pids=PIDS[2:]),
            r"has no gallery_pids; did you mean galery_pids\?; it has query_features",
        ),
        (two_sided(q_pids=PIDS[:2]), "query_pids and q_pids are both the column pids"),
        (two_sided(query_pids=PIDS[:1]), r"2 rows of query_features, but query_pids is \(1,\)"),
        (
            two_sided(query_features=PIDS[:2]),
            r"query_features is \(2,\) int64; expected \(N, D\) floating",
        ),
        (two_sided(query_camids=None), "cameras of the gallery are given, and none of the query"),
        (
            two_sided(query_pids=np.array(["a", "b"])),
            "pids of the query are text and of the gallery integers; expected integers on both",
        ),
        (
            two_sided(query_pids=np.array(["a", None], dtype=object)),
            "query_pids holds Python objects, which are not read because they could run code",
        ),
        (
            two_sided(query_pids=np.array([1.5, 2.0])),
            r"pids is \(2,\) float64; expected \(N,\) integers or text",
        ),
    ],
)
def test_a_file_that_cannot_be_says_why(tmp_path, arrays, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path, arrays)


def test_files_that_are_none_are_refused(tmp_path):
    (tmp_path / "torn.npz").write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(DataError, match=r"torn\.npz cannot be read as \.npz"):
        read_embeddings(tmp_path / "torn.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(DataError, match=r"it is no archive of arrays; expected what numpy\.savez"):
        read_embeddings(tmp_path / "text.npz")
    with pytest.raises(DataError, match=r"none\.npz not found"):
        read_embeddings(tmp_path / "none.npz")
    with pytest.raises(UsageError, match=r"ends in \.npz or \.parquet"):
        read_embeddings(tmp_path / "features.pth")


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
@pytest.mark.parametrize("has_text", [True, False])
def test_what_is_written_gives_the_same_figures(tmp_path, ending, has_text):
    rng = np.random.default_rng(1)
    pids = rng.integers(0, 5, 60)
    columns = {
        "features": rng.normal(size=(60, 8)).astype(np.float32),
        "pids": np.array([f"id_{pid}" for pid in pids]) if has_text else pids,
        "camids": rng.integers(0, 3, 60),
        "paths": np.array([f"{row}.jpg" for row in range(60)]),
        "boxes": rng.normal(size=(60, 4)),
        "file": np.array(["x"] * 60),
        "split": np.where(np.arange(60) < 20, "query", "gallery"),
    }
    columns["column of a tool"] = columns.pop("file")
    first = read(tmp_path, columns)
    write_embeddings(tmp_path / f"again{ending}", first)
    again = read_embeddings(tmp_path / f"again{ending}", name="set")
    assert torch.equal(again.query.features, first.query.features)
    assert again.describe(21) == first.describe(21)
    for side in ("query", "gallery"):
        ours, theirs = getattr(again, side).labels, getattr(first, side).labels
        assert ours.pids.tolist() == theirs.pids.tolist()
        assert np.array_equal(ours.columns["boxes"], theirs.columns["boxes"])
        assert set(ours.columns) == set(theirs.columns)
    protocol = market1501()
    figures = [evaluate_retrieval(s.query, s.gallery, protocol=protocol) for s in (first, again)]
    assert figures[0].scalars() == figures[1].scalars()


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_unknown_cameras_stay_unknown(tmp_path, ending):
    first = read(tmp_path, two_sided(query_camids=None, gallery_camids=None))
    write_embeddings(tmp_path / f"again{ending}", first)
    assert not read_embeddings(tmp_path / f"again{ending}").has_cameras


def test_parquet_without_its_package_says_what_to_type(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "a.parquet").touch()
    with pytest.raises(DataError, match=r"pip install 'reid-core\[parquet\]'"):
        read_embeddings(tmp_path / "a.parquet")


def test_parquet_with_lists_of_two_lengths_is_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = importlib.import_module("pyarrow.parquet")
    table = {"split": ["query", "gallery"], "pid": [1, 1], "embedding": [[1.0, 2.0], [1.0]]}
    parquet.write_table(pa.table(table), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="lists of 1 to 2 numbers; expected one length"):
        read_embeddings(tmp_path / "a.parquet")


def test_parquet_of_another_tool_is_read(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = importlib.import_module("pyarrow.parquet")
    table = {
        "split": ["query", "gallery", "gallery"],
        "pid": ["b", "b", "a"],
        "embedding": [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]],
        "path": ["q.jpg", "1.jpg", "2.jpg"],
    }
    parquet.write_table(pa.table(table), tmp_path / "a.parquet")
    found = read_embeddings(tmp_path / "a.parquet")
    assert found.describe(2) == {"path": "2.jpg", "pid": "a", "camid": ""}
    assert evaluate_retrieval(found.query, found.gallery, protocol=no_camera()).mAP == 1.0


def test_text_0_is_a_distractor_and_the_number_0_is_not():
    features = np.eye(3, dtype=np.float32)
    text = Side(features, np.array(["0", "-1", "anna"]))
    made = EmbeddingSet.of("set", text, text)
    assert made.query.columns["distractors"].tolist() == [True, False, False]
    given = replace(text, columns={"distractors": np.array([False, False, True])})
    made = EmbeddingSet.of("set", given, given)
    assert made.gallery.columns["distractors"].tolist() == [False, False, True]
    numbers = Side(features, np.array([0, -1, 7]))
    assert "distractors" not in EmbeddingSet.of("set", numbers, numbers).query.columns
