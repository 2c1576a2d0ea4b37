"""ATRW: Amur tigers in zoos, from video."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from reid_core.data.manifest import Count, Manifest
from reid_core.errors import DataError
from reid_core.paths import resolve_root
from reid_plugin_datasets.folders import Matches, find_folder, folders_in, matching
from reid_plugin_datasets.listed import require_images
from reid_plugin_datasets.names import read_names
from reid_plugin_datasets.parameters import require_choice
from reid_plugin_datasets.rows import Row, manifest_of

#: Where people unpack the archives: each into a folder of its name, or all into one.
_TRAIN_IMAGES = ("atrw_reid_train/train", "train", "atrw_reid_train")
_TRAIN_LIST = ("atrw_anno_reid_train/reid_list_train.csv", "reid_list_train.csv")
_TEST_IMAGES = ("atrw_reid_test/test", "test", "atrw_reid_test")
_TRUTH = tuple(
    f"{folder}gt_test_plain.json"
    for folder in (
        "",
        "annotations/",
        "ATRWEvalScript/annotations/",
        "ATRWEvalScript-main/annotations/",
        "eval_script/ATRWEvalScript-main/annotations/",
    )
)
#: Which half of the benchmark the queries are.
Queries = Literal["cross_camera", "single_camera"]
#: What the annotation calls them.
_QUERIES: dict[Queries, str] = {"cross_camera": "multi", "single_camera": "sing"}

_NAME = re.compile(r"(\d+)\.")
#: The recording of a training image, which is not published.
_NOT_KNOWN = "not known"


class _Truth(NamedTuple):
    """What the test's annotation says of an image."""

    entity: int
    recording: str
    frame: int
    query: str


class _Part(NamedTuple):
    """The rows of training or test."""

    rows: list[Row]
    frames: list[int]
    notes: list[str]
    matches: Sequence[Matches] = ()


def atrw(
    root: str | Path,
    test: bool = True,
    queries: Queries = "cross_camera",
) -> Manifest:
    """Read ATRW for re-identification, the "plain" track.

    A line of ``reid_list_train.csv`` is ``199,000123.jpg``. An identity is one side of a tiger,
    since the stripes of the two sides differ. The test's annotation, ``gt_test_plain.json``, comes
    with the evaluation script; it gives each numbered image of ``atrw_reid_test`` its identity, its
    recording and the frame.

    A recording counts as a camera. The queries are the images of identities that several recordings
    show, or those that only one does: the two halves of the benchmark. The gallery is all of the
    test, so a query is in it too. The protocol ``atrw`` leaves out frames of the query's recording
    that are 3 or fewer apart, as the authors do; the columns ``sequences`` and ``frames`` hold what
    that rule needs. A stricter rule is that of ``market1501``, by which the cross-camera queries
    are searched for in other recordings than their own. The training list does not tell the
    recordings.

    Args:
        root: The folder with the unpacked archives ``atrw_reid_train``, ``atrw_anno_reid_train``,
            ``atrw_reid_test`` and ``ATRWEvalScript``, or with what they hold, or the one above
            ``ATRW``. A relative path is also looked for under ``REID_DATASETS``.
        test: Whether the test is read too.
        queries: The images of identities that several recordings show (``cross_camera``), or those
            that one recording shows alone (``single_camera``).

    Returns:
        The manifest: training in the order of the list, then query and gallery, files sorted.

    Raises:
        ConfigError: ``queries`` is another word.
        DataError: Folders, lists or files are not as described, or no image is such a query.

    Source: Li et al., ATRW: A Benchmark for Amur Tiger Re-identification in the Wild, ACM
        Multimedia 2020.
    """
    require_choice(queries, get_args(Queries), name="queries", dataset="atrw")
    base = _find(root)
    parts = [_train(base), *([_test(base, queries)] if test else [])]
    rows = [row for part in parts for row in part.rows]
    return manifest_of(
        rows,
        dataset="atrw",
        root=base,
        matches=[one for part in parts for one in part.matches],
        notes=[note for part in parts for note in part.notes],
        columns={
            "sequences": [row.camid for row in rows],
            "frames": [frame for part in parts for frame in part.frames],
        },
        expected={"train": Count(1887, 107), **({"gallery": Count(1764, 75)} if test else {})},
    )


def _train(base: Path) -> _Part:
    folder, file = _first_of(base, _TRAIN_IMAGES), _first_of(base, _TRAIN_LIST)
    rows = [
        Row(f"{folder}/{image}", entity, _NOT_KNOWN, "train")
        for image, entity in _read_list(base / file)
    ]
    notes = require_images(base, [row.path for row in rows], dataset="atrw", source=file)
    return _Part(rows, [-1] * len(rows), ["an identity is one side of a tiger", *notes])


def _test(base: Path, queries: Queries) -> _Part:
    folder, file = _first_of(base, _TEST_IMAGES), _first_of(base, _TRUTH)
    truth = _read_truth(base / file)
    images = matching(
        base, _NAME, dataset="atrw", example="000123.jpg", inside=folder, required=True
    )
    found = [(path, truth[int(match[1])]) for path, match in images.found if int(match[1]) in truth]
    if not found:
        raise DataError(
            f"data set atrw: {file} knows no image of {base / folder}, such as "
            f"{', '.join(path for path, _ in images.found[:3])}; expected their numbers as imgid"
        )
    query = [(path, one) for path, one in found if one.query == _QUERIES[queries]]
    if not query:
        raise DataError(
            f"data set atrw: {file} marks no image of {base / folder} as a query of the kind "
            f"{queries}; set queries to the other kind"
        )
    rows = [
        *(Row(path, one.entity, one.recording, "query") for path, one in query),
        *(Row(path, one.entity, one.recording, "gallery") for path, one in found),
    ]
    notes = [
        f"queries: {queries}; they are in the gallery themselves, which the protocol atrw minds"
    ]
    if len(found) < len(images.found):
        notes.append(f"{len(images.found) - len(found)} test images left out that {file} lacks")
    if len(found) < len(truth):
        notes.append(f"{len(truth) - len(found)} images of {file} are not in {folder}")
    return _Part(rows, [one.frame for _, one in (*query, *found)], notes, [images])


def _find(root: str | Path) -> Path:
    base = resolve_root(root)
    for folder in (base, base / "ATRW", base / "atrw"):
        if any((folder / place).is_file() for place in _TRAIN_LIST):
            return folder
    expected = (_TRAIN_IMAGES[0], _TRAIN_LIST[0])
    return find_folder(root, dataset="atrw", nested=("ATRW", "atrw"), expected=expected)


def _first_of(base: Path, places: Sequence[str]) -> str:
    """Return the first of several places that is there."""
    for place in places:
        if (base / place).exists():
            return place
    test = "; or set test: false to train alone" if places in (_TEST_IMAGES, _TRUTH) else ""
    raise DataError(
        f"data set atrw: {base} has none of {', '.join(places)}; it holds the folders "
        f"{', '.join(folders_in(base)[:8]) or '(none)'}; unpack the archive there{test}"
    )


def _read_list(path: Path) -> list[tuple[str, int]]:
    rows = []
    for number, line in enumerate(read_names(path, dataset="atrw"), 1):
        entity, _, image = (word.strip() for word in line.partition(","))
        if not entity.isdigit() or not image:
            raise DataError(
                f"data set atrw: {path}, entry {number}: {line!r} is no identity and image; "
                "expected a line like 199,000123.jpg"
            )
        rows.append((image, int(entity)))
    return rows


def _read_truth(path: Path) -> dict[int, _Truth]:
    """Return what the annotation says, by the image's number."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8-sig"))
        return {
            int(entry["imgid"]): _Truth(
                entity=int(entry["entityid"]),
                recording=f"{int(entry['frame'][0])}_{int(entry['frame'][1])}",
                frame=int(entry["frame"][2]),
                query=str(entry["query"]),
            )
            for entry in entries
        }
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise DataError(
            f"data set atrw: {path} cannot be read: {error!r}; expected a list of entries like "
            '{"query": "multi", "entityid": 235, "frame": [31, 4, 1089], "imgid": 4096}'
        ) from error
