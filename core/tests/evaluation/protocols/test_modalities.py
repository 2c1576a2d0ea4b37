import pytest

from reid_core.errors import DataError
from reid_core.evaluation.protocols.modalities import regdb


def test_all_of_the_other_modality_counts(points, evaluated):
    # RegDB: visible queries of camera 1, thermal gallery of camera 2. Query 0, identity 1: matches
    # at 1 and 3, a mistake at 2: AP = (1 + 2/3) / 2. Query 2.1, identity 2: its match at 2 is
    # nearest: AP 1. INP 2/3 and 1.
    result = evaluated(
        points([0, 2.1], [1, 2], [1, 1], modalities=["rgb", "rgb"]),
        points([1, 2, 3], [1, 2, 1], [2, 2, 2], modalities=["infrared"] * 3),
        regdb(),
    )
    assert result.ap == pytest.approx([5 / 6, 1])
    assert result.inp == pytest.approx([2 / 3, 1])
    assert result.rank(1) == 1
    assert result.protocol == "regdb"
    assert "one of ten trials" in result.protocol_description


def test_the_same_camera_counts_and_the_same_modality_does_not(points, evaluated):
    # At 1 the identity in the query's modality, left out; at 2 a mistake; at 3 the identity in the
    # other modality, in the query's camera: rank 2.
    result = evaluated(
        points([0], [1], [5], modalities=["rgb"]),
        points([1, 2, 3], [1, 2, 1], [6, 6, 5], modalities=["rgb", "infrared", "infrared"]),
        regdb(),
    )
    assert result.mAP == 0.5
    assert result.num_candidates.tolist() == [2]


def test_junk_is_left_out(points, evaluated):
    result = evaluated(
        points([0], [1], modalities=["rgb"]),
        points([1, 2], [-1, 1], modalities=["infrared"] * 2),
        regdb(),
    )
    assert (result.mAP, result.num_candidates.tolist()) == (1, [1])


def test_a_set_that_does_not_tell_modalities_is_refused(points, evaluated):
    with pytest.raises(DataError, match=r"needs the column modalities, and the test set has"):
        evaluated(points([0], [1]), points([1], [1]), regdb())
