import numpy as np
import pytest

from reid_core.data.distinct import distinct

TEXT = np.dtypes.StringDType()


@pytest.mark.parametrize(
    "values",
    [
        np.array([5, -1, 5, 3]),
        np.array([], dtype=np.int64),
        np.array(["b", "a", "ü", "b", "", "a" * 40], dtype=TEXT),
        np.array([], dtype=TEXT),
        np.random.default_rng(0).integers(0, 50, 200_000).astype(np.str_).astype(TEXT),
    ],
    ids=["numbers", "no numbers", "text", "no text", "several chunks"],
)
def test_values_and_positions_are_those_of_numpy(values):
    found, positions = distinct(values)
    expected, places = np.unique(values, return_inverse=True)
    assert found.dtype == values.dtype
    assert found.tolist() == expected.tolist()
    assert positions.tolist() == places.tolist()
    assert positions.dtype == np.int32
