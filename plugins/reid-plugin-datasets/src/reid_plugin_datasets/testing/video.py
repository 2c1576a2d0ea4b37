"""Tiny copies of the video sets, in their real layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reid_plugin_datasets.testing.images import write_image

#: Tracklets of a tiny MARS: identity, camera, number of the tracklet, frames.
MARS_TRAIN = [("0001", 1, 1, 3), ("0001", 2, 1, 1), ("0003", 6, 2, 2)]
MARS_TEST = [
    ("00-1", 1, 1, 2),
    ("0000", 3, 1, 1),
    ("0002", 1, 1, 2),
    ("0002", 2, 1, 12),
    ("0004", 3, 2, 1),
    ("0004", 5, 1, 1),
]
#: Lines of the queries in the table of test tracklets.
MARS_QUERIES = [3, 5]


def write_mars(root: Path) -> Path:
    """Write two training and two test identities, a distractor and junk. Needs scipy."""
    from scipy.io import savemat

    folder = root / "MARS"
    info = folder / "info"
    info.mkdir(parents=True)
    for part, tracklets in (("train", MARS_TRAIN), ("test", MARS_TEST)):
        names: list[str] = []
        table = []
        for pid, camera, number, length in tracklets:
            first = len(names) + 1
            for frame in range(1, length + 1):
                names.append(f"{pid}C{camera}T{number:04d}F{frame:03d}.jpg")
                write_image(folder / f"bbox_{part}" / pid / names[-1])
            table.append((first, len(names), -1 if pid == "00-1" else int(pid), camera))
        (info / f"{part}_name.txt").write_text("".join(f"{name}\n" for name in names))
        values = np.array(table, dtype=np.float64)
        savemat(info / f"tracks_{part}_info.mat", {f"track_{part}_info": values})
    savemat(info / "query_IDX.mat", {"query_IDX": np.array([MARS_QUERIES], dtype=np.float64)})
    return root


def write_dukemtmc_videoreid(root: Path) -> Path:
    """Write two training and two test identities and a distractor, in both kinds of names."""
    tracklets = [
        ("train", 1, 3, 6, 3),
        ("train", 1, 5, 2, 1),
        ("train", 7, 1, 1, 2),
        ("query", 2, 9, 4, 11),
        ("query", 4, 2, 1, 1),
        ("gallery", 2, 10, 5, 2),
        ("gallery", 4, 3, 7, 1),
        ("gallery", 900, 1, 8, 1),
    ]
    for split, pid, tracklet, camera, length in tracklets:
        line = "_" if pid == 7 else ""
        for frame in range(1, length + 1):
            name = f"{pid:04d}{line}C{camera}{line}F{frame:04d}{line}X{3000 + 12 * frame}.jpg"
            folder = root / "DukeMTMC-VideoReID" / split / f"{pid:04d}" / f"{tracklet:04d}"
            write_image(folder / name)
    return root
