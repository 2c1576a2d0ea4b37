"""DukeMTMC-VideoReID: tracklets cut from DukeMTMC's videos."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from reid_core.data.manifest import Count, Manifest, Split
from reid_plugin_datasets.dukemtmc import WITHDRAWN
from reid_plugin_datasets.folders import find_folder, matching
from reid_plugin_datasets.rows import Row, manifest_of
from reid_plugin_datasets.tracklets import View, chosen_frames, require_view, view_note

_SPLITS: tuple[Split, ...] = ("train", "query", "gallery")
_NAME = re.compile(r"(\d+)/(\d+)/\d+_?C(\d)_?F(\d+)")


def dukemtmc_videoreid(
    root: str | Path, view: View = "image", frames_per_tracklet: int = 8
) -> Manifest:
    """Read DukeMTMC-VideoReID.

    ``train/0001/0003/0001C6F0099X30823.jpg`` is a frame of identity 1, tracklet folder 3, camera 6
    of 8, frame 99 of the tracklet; names with underscores (``0001_C6_F0099_X30823.jpg``) are read
    alike. One tracklet of each test identity is a query; the gallery has distractors with
    identities of their own. The authors of DukeMTMC took their data back in 2019, so nothing here
    downloads it, and the manifest says so.

    Each row is a frame. The columns say what belongs together: ``tracklets``, the tracklets of the
    whole set numbered from 1 in the order of rows, and ``frames``, the frame's number in its name.

    Args:
        root: The folder with ``train``, ``query`` and ``gallery``, or the one above
            ``DukeMTMC-VideoReID``. A relative path is also looked for under ``REID_DATASETS``.
        view: ``image``: every frame is a row. ``tracklet``: at most ``frames_per_tracklet`` frames
            of each tracklet are, evenly spread over it, the first and the last among them.
        frames_per_tracklet: Frames of a tracklet in the view ``tracklet``, 1 or more.

    Returns:
        The manifest, in the order train, query, gallery, folders and files sorted.

    Raises:
        ConfigError: A parameter is wrong.
        DataError: The folders are not there, or no file in one is named like that.

    Source: Wu et al., Exploit the Unknown Gradually: One-Shot Video-Based Person Re-Identification
        by Stepwise Learning, CVPR 2018.
    """
    require_view(view, frames_per_tracklet, dataset="dukemtmc_videoreid")
    folder = find_folder(
        root,
        dataset="dukemtmc_videoreid",
        nested=("DukeMTMC-VideoReID", "dukemtmc-vidreid/DukeMTMC-VideoReID"),
        expected=_SPLITS,
    )
    matches = {
        split: matching(
            folder,
            _NAME,
            dataset="dukemtmc_videoreid",
            example="0001/0003/0001C6F0099X30823.jpg",
            inside=split,
            recursive=True,
            required=True,
        )
        for split in _SPLITS
    }
    found = [(split, path, match) for split in _SPLITS for path, match in matches[split].found]
    lengths: dict[tuple[str, str, str], int] = {}
    for split, _, match in found:
        tracklet = (split, match[1], match[2])
        lengths[tracklet] = lengths.get(tracklet, 0) + 1
    counts = np.array(list(lengths.values()), dtype=np.int64)
    positions, owners = chosen_frames(
        np.cumsum(counts) - counts, counts, view=view, frames_per_tracklet=frames_per_tracklet
    )
    chosen = [found[position] for position in positions.tolist()]
    return manifest_of(
        [Row(path, int(match[1]), int(match[3]), split) for split, path, match in chosen],
        dataset="dukemtmc_videoreid",
        root=folder,
        matches=list(matches.values()),
        notes=(WITHDRAWN, view_note(view, frames_per_tracklet, len(lengths))),
        expected={"train": Count(369_656, 702)} if view == "image" else None,
        columns={
            "tracklets": owners + 1,
            "frames": np.array([int(match[4]) for _, _, match in chosen]),
        },
    )
