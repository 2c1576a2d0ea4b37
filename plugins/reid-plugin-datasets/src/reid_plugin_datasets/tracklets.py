"""Frames of tracklets: all of them, or a few that are spread evenly over each."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import ConfigError
from reid_plugin_datasets.parameters import require_choice

#: ``image``: every frame is a row. ``tracklet``: only some evenly spread frames of a tracklet are.
View = Literal["image", "tracklet"]


def require_view(view: str, frames_per_tracklet: int, *, dataset: str) -> None:
    """Check the parameters that all video readers share.

    Args:
        view: What the config says.
        frames_per_tracklet: What the config says.
        dataset: The component's name, for messages.

    Raises:
        ConfigError: One is not as expected.
    """
    require_choice(view, get_args(View), name="view", dataset=dataset)
    if isinstance(frames_per_tracklet, bool) or frames_per_tracklet < 1:
        raise ConfigError(
            f"data set {dataset}: frames_per_tracklet is {frames_per_tracklet}; expected 1 or more"
        )


def spread(length: int, count: int) -> NDArray[np.int64]:
    """Choose evenly spread positions of a sequence, the first and the last among them.

    Args:
        length: Length of the sequence, 1 or more.
        count: How many to choose, 1 or more.

    Returns:
        (min(length, count),) int64, ascending; the middle where ``count`` is 1, all positions
        where the sequence is no longer than ``count``.
    """
    if length <= count:
        return np.arange(length, dtype=np.int64)
    if count == 1:
        return np.array([(length - 1) // 2], dtype=np.int64)
    # In integers, i·(length − 1) / (count − 1) rounded: the same on every machine.
    steps = np.arange(count, dtype=np.int64) * (length - 1)
    return (2 * steps + count - 1) // (2 * (count - 1))


def chosen_frames(
    starts: NDArray[np.int64], lengths: NDArray[np.int64], *, view: View, frames_per_tracklet: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Say which frames of tracklets are rows.

    Args:
        starts: (T,) position of each tracklet's first frame in a list of all frames.
        lengths: (T,) frames of each, which follow one another in that list.
        view: Whether all of them or ``frames_per_tracklet`` are wanted.
        frames_per_tracklet: Frames of a tracklet in the tracklet view.

    Returns:
        Positions in the list of frames, and for each the number of its tracklet, from 0; both
        (N,) int64, tracklet after tracklet.
    """
    if view == "image":
        owners = np.repeat(np.arange(len(starts)), lengths)
        before = np.cumsum(lengths) - lengths
        return np.arange(len(owners)) - before[owners] + starts[owners], owners
    picked = [spread(int(length), frames_per_tracklet) for length in lengths]
    owners = np.repeat(np.arange(len(starts)), [len(positions) for positions in picked])
    inside = np.concatenate(picked) if picked else np.empty(0, dtype=np.int64)
    return inside + starts[owners], owners


def view_note(view: View, frames_per_tracklet: int, num_tracklets: int) -> str:
    """Say in one line which frames are rows, for a manifest's notes."""
    if view == "image":
        return f"view image: every frame of {num_tracklets} tracklets"
    return (
        f"view tracklet: at most {frames_per_tracklet} evenly spread frames of each of "
        f"{num_tracklets} tracklets"
    )
