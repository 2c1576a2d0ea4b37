"""CUHK03: boxes drawn by hand or by a detector, tested in a classic and in a new way."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import numpy as np

from reid_core.data.manifest import Count, Manifest, Split
from reid_core.errors import ConfigError, DataError
from reid_core.paths import resolve_root
from reid_plugin_datasets.cuhk03_images import ensure_images, read_test_people
from reid_plugin_datasets.draws import require_split, split_note
from reid_plugin_datasets.folders import Matches, find_folder, matching
from reid_plugin_datasets.layouts import MARKET_FOLDERS, rows_by_folder
from reid_plugin_datasets.matlab import read_cells, read_variable
from reid_plugin_datasets.parameters import require_choice
from reid_plugin_datasets.rows import Row, manifest_of

_RELEASE = "cuhk03_release/cuhk-03.mat"
_NUM_SPLITS = 20
_NESTED = ("cuhk03", "CUHK03")
_NP_NESTED = ("", "cuhk03-np/", "CUHK03-NP/", "cuhk03/cuhk03-np/")
_NAME = re.compile(r"([1-9])_(\d+)_([12])_(\d+)\.")
_NP_NAME = re.compile(r"(\d+)_c(\d+)")
_EXPECTED = {
    "labeled": {"train": Count(7368, 767), "query": Count(1400, 700), "gallery": Count(5328, 700)},
    "detected": {"train": Count(7365, 767), "query": Count(1400, 700), "gallery": Count(5332, 700)},
}


def cuhk03(
    root: str | Path,
    images: Literal["labeled", "detected"] = "labeled",
    protocol: Literal["new", "classic"] = "new",
    split: int = 0,
    gallery: Literal["all", "one"] = "all",
) -> Manifest:
    """Read CUHK03.

    Two forms are known. The release: ``cuhk03_release/cuhk-03.mat``, whose images are extracted
    once, beside it, to ``images_labeled`` or ``images_detected``; a file is named
    ``1_002_1_03.png``: pair of cameras, person of that pair, view, number. Each pair counts its
    people anew, so person 2 of pair 1 is identity 1002 here, and view 2 of pair 1 is camera 2 of
    10. And the folders of CUHK03-NP: ``cuhk03-np/labeled/bounding_box_train`` and so on, with
    identity and camera in the names, as in Market-1501; the new protocol takes them first.

    The new protocol trains on 767 identities and tests 700; the release needs
    ``cuhk03_new_protocol_config_labeled.mat`` (or ``_detected``) beside it. The classic protocol
    tests 100 identities in each of 20 splits and trains on all others. Its queries are the images
    of the first view, its gallery is the images of the second view: the protocol ``cuhk03`` counts
    one of each identity, by the expectation over all draws, or by draws. Tools that need a gallery
    of one image an identity get it with ``gallery`` one, drawn with the number of the split.

    Args:
        root: The folder with ``cuhk03_release``, or that with ``labeled`` and ``detected``, or the
            one above ``cuhk03`` or ``cuhk03-np``. A relative path is also looked for under
            ``REID_DATASETS``.
        images: Boxes that people drew, or those of a detector. Results of the two do not compare.
        protocol: ``new`` as in recent papers, or ``classic``.
        split: Number of the split of the classic protocol, 0 to 19.
        gallery: In the classic protocol ``all`` images of the second view, or ``one`` of each
            identity. The new protocol has its own gallery, which is ``all``.

    Returns:
        The manifest: in the order of the protocol's file, or files sorted.

    Raises:
        DataError: No form is there, a file of it cannot be read, or images are missing.
        ConfigError: A parameter is none of the above, or the new protocol is given a split, or a
            gallery of one image an identity.

    Source: Li et al., DeepReID, CVPR 2014; Zhong et al., Re-ranking Person Re-identification with
        k-reciprocal Encoding, CVPR 2017 (the new protocol).
    """
    require_choice(images, ("labeled", "detected"), name="images", dataset="cuhk03")
    require_choice(protocol, ("new", "classic"), name="protocol", dataset="cuhk03")
    require_choice(gallery, ("all", "one"), name="gallery", dataset="cuhk03")
    require_split(split, dataset="cuhk03", number=_NUM_SPLITS)
    if protocol == "classic":
        return _classic(root, images, split, gallery)
    if gallery == "one":
        raise ConfigError(
            "data set cuhk03: gallery is one, but the new protocol searches all images; leave it "
            "out, or set protocol to classic"
        )
    if split:
        raise ConfigError(
            f"data set cuhk03: split is {split}, but the new protocol has one split only; leave it "
            "out, or set protocol to classic"
        )
    base = resolve_root(root)
    for folder in (base / f"{name}{images}" for name in _NP_NESTED):
        if all((folder / inside).is_dir() for inside in MARKET_FOLDERS.values()):
            return _new_of_folders(folder, images)
    return _new_of_release(root, images)


def _new_of_folders(folder: Path, images: str) -> Manifest:
    rows, parts = rows_by_folder(
        folder, MARKET_FOLDERS, _NP_NAME, dataset="cuhk03", example="0003_c1_21.png"
    )
    return _manifest(rows, folder, images, "new", parts, expected=_EXPECTED[images])


def _new_of_release(root: str | Path, images: str) -> Manifest:
    name = f"cuhk03_new_protocol_config_{images}.mat"
    try:
        folder = _find(root, images, (name,))
    except DataError as error:
        raise DataError(
            f"{error}; or to the one above cuhk03-np/{images}/{MARKET_FOLDERS['train']}"
        ) from error
    part = _images(folder, images)
    config = folder / name
    files = np.asarray(read_cells(config, "filelist", dataset="cuhk03")).ravel().tolist()
    found = dict(part.found)
    splits: dict[Split, str] = {
        "train": "train_idx",
        "query": "query_idx",
        "gallery": "gallery_idx",
    }
    rows: list[Row] = []
    for split, variable in splits.items():
        numbers = read_variable(config, variable, dataset="cuhk03").ravel().tolist()
        if numbers and not 1 <= min(numbers) <= max(numbers) <= len(files):
            raise DataError(
                f"data set cuhk03: {variable} in {config} holds {min(numbers)} to {max(numbers)}; "
                f"expected 1 to {len(files)}, the rows of filelist"
            )
        paths = [f"images_{images}/{files[number - 1]}" for number in numbers]
        _require(found, paths, folder / f"images_{images}", config)
        rows += [Row(path, *_ids(found[path]), split) for path in paths]
    return _manifest(rows, folder, images, "new", [part], expected=_EXPECTED[images])


def _classic(root: str | Path, images: str, split: int, gallery: str) -> Manifest:
    folder = _find(root, images, (_RELEASE,))
    tested = read_test_people(folder / _RELEASE, split)
    part = _images(folder, images)
    rows: list[Row] = []
    candidates: dict[int, list[Row]] = {}
    for path, match in part.found:
        pid, camera = _ids(match)
        if (int(match[1]), int(match[2])) not in tested:
            rows.append(Row(path, pid, camera, "train"))
        elif match[3] == "1":
            rows.append(Row(path, pid, camera, "query"))
        else:
            candidates.setdefault(pid, []).append(Row(path, pid, camera, "gallery"))
    rng = np.random.default_rng(np.random.SeedSequence(split))
    for _, shown in sorted(candidates.items()):
        rows += shown if gallery == "all" else [shown[int(rng.integers(len(shown)))]]
    rule = f"the {len(tested)} identities that cuhk-03.mat names are tested; gallery: " + (
        "all images of the second view, of which the protocol cuhk03 counts one an identity"
        if gallery == "all"
        else f"one image of the second view of each, drawn with the number {split}"
    )
    return _manifest(
        rows, folder, images, "classic", [part], [split_note(split, rule, number=_NUM_SPLITS)]
    )


def _find(root: str | Path, images: str, expected: tuple[str, ...]) -> Path:
    """Find the release; its images, once extracted, stand for the file they came from."""
    base = resolve_root(root)
    extracted = any((base / name / f"images_{images}").is_dir() for name in ("", *_NESTED))
    source = (f"images_{images}",) if extracted else (_RELEASE,)
    return find_folder(
        root,
        dataset="cuhk03",
        nested=_NESTED,
        expected=tuple(dict.fromkeys((*expected, *source))),
    )


def _images(folder: Path, images: str) -> Matches:
    inside = f"images_{images}"
    ensure_images(folder / _RELEASE, images, folder / inside)
    return matching(
        folder, _NAME, dataset="cuhk03", example="1_002_1_03.png", inside=inside, required=True
    )


def _ids(match: re.Match[str]) -> tuple[int, int]:
    """Return the identity, unique over the pairs of cameras, and the camera, 1 to 10."""
    pair, person, view = int(match[1]), int(match[2]), int(match[3])
    return pair * 1000 + person, (pair - 1) * 2 + view


def _require(found: Iterable[str], paths: list[str], folder: Path, config: Path) -> None:
    missing = sorted(set(paths) - set(found))
    if missing:
        raise DataError(
            f"data set cuhk03: {len(missing)} of the {len(paths)} images that {config.name} names "
            f"are missing, the first is {missing[0]}; delete {folder}, and it is extracted again "
            f"from {_RELEASE}"
        )


def _manifest(
    rows: list[Row],
    folder: Path,
    images: str,
    protocol: str,
    parts: list[Matches],
    notes: list[str] | None = None,
    *,
    expected: dict[str, Count] | None = None,
) -> Manifest:
    return manifest_of(
        rows,
        dataset="cuhk03",
        root=folder,
        title=f"cuhk03_{images}" + ("" if protocol == "new" else "_classic"),
        matches=parts,
        notes=[f"{images} boxes, {protocol} protocol", *(notes or [])],
        expected=expected,
    )
