import numpy as np
import pytest

from reid_core.errors import DataError
from reid_core.evaluation.protocols.atrw import atrw


def test_near_frames_of_the_recording_are_left_out(points, evaluated):
    # Query: identity 1, recording a, frame 10. Gallery by distance:
    #   0: the query itself                           left out
    #   1: identity 1, recording a, frame 13          left out, 3 frames on
    #   2: identity 2, recording a, frame 11          a mistake, rank 1
    #   3: identity 1, recording a, frame 14          rank 2
    #   4: identity 1, recording b, frame 10          rank 3
    # AP = (1/2 + 2/3) / 2 = 7/12.
    query = points([0], [1], sequences=["a"], frames=[10])
    gallery = points(
        [0, 1, 2, 3, 4],
        [1, 1, 2, 1, 1],
        sequences=["a", "a", "a", "a", "b"],
        frames=[10, 13, 11, 14, 10],
    )
    result = evaluated(query, gallery, atrw())
    assert result.mAP == pytest.approx(7 / 12)
    assert result.rank(1) == 0
    assert result.num_candidates.tolist() == [3]
    assert "3 or fewer apart" in result.protocol_description


def test_the_mask_is_that_of_a_loop(points):
    rng = np.random.default_rng(0)
    query, gallery = (
        points(
            np.zeros(n),
            rng.integers(-1, 3, n),
            sequences=rng.choice(["a", "b"], n),
            frames=rng.integers(0, 9, n),
        ).labels
        for n in (15, 40)
    )
    rows = [
        [
            gallery.pids[g] == -1
            or (
                query.pids[q] == gallery.pids[g]
                and query.columns["sequences"][q] == gallery.columns["sequences"][g]
                and abs(int(query.columns["frames"][q]) - int(gallery.columns["frames"][g])) <= 3
            )
            for g in range(40)
        ]
        for q in range(15)
    ]
    assert atrw().excluded(query, gallery).tolist() == rows


@pytest.mark.parametrize("column", ["sequences", "frames"])
def test_a_missing_column_is_named(column, points, evaluated):
    columns = {"sequences": ["a"], "frames": [1]}
    del columns[column]
    side = points([0], [1], **columns)
    with pytest.raises(DataError, match=f"needs the column {column}"):
        evaluated(side, side, atrw())
