import numpy as np
import pytest

from reid_core.errors import ConfigError
from reid_plugin_datasets.tracklets import chosen_frames, require_view, spread


@pytest.mark.parametrize("length", [1, 2, 7, 8, 9, 15, 16, 100, 921])
@pytest.mark.parametrize("count", [1, 2, 3, 8, 15])
def test_chosen_positions_are_spread_evenly_from_the_first_to_the_last(length, count):
    positions = spread(length, count).tolist()
    assert len(positions) == min(length, count)
    assert positions == sorted(set(positions))
    if count >= 2:
        assert (positions[0], positions[-1]) == (0, length - 1)
        ideal = [i * (length - 1) / max(1, len(positions) - 1) for i in range(len(positions))]
        assert all(abs(p - q) <= 0.5 for p, q in zip(positions, ideal, strict=True))


def test_a_single_position_is_the_middle():
    assert [spread(length, 1).tolist() for length in (1, 2, 3, 10)] == [[0], [0], [1], [4]]


def test_frames_of_all_tracklets_follow_one_another():
    starts, lengths = np.array([10, 0, 4]), np.array([3, 2, 1])
    positions, owners = chosen_frames(starts, lengths, view="image", frames_per_tracklet=1)
    slow = [(start + i, t) for t, start in enumerate(starts) for i in range(lengths[t])]
    assert list(zip(positions.tolist(), owners.tolist(), strict=True)) == slow


def test_the_tracklet_view_takes_some_frames_of_each():
    starts, lengths = np.array([10, 0]), np.array([9, 2])
    positions, owners = chosen_frames(starts, lengths, view="tracklet", frames_per_tracklet=3)
    assert positions.tolist() == [10, 14, 18, 0, 1]
    assert owners.tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("view", "frames", "message"),
    [
        ("video", 8, "data set mars: view is 'video'; expected image or tracklet"),
        ("tracklet", 0, "data set mars: frames_per_tracklet is 0; expected 1 or more"),
    ],
)
def test_wrong_parameters_are_refused(view, frames, message):
    with pytest.raises(ConfigError, match=message):
        require_view(view, frames, dataset="mars")
