import numpy as np
import pytest

from reid_core.errors import DataError
from reid_plugin_datasets.matlab import read_variable

scipy_io = pytest.importorskip("scipy.io", reason="MATLAB's files need scipy")


@pytest.fixture
def path(tmp_path):
    scipy_io.savemat(tmp_path / "table.mat", {"whole": np.array([[1.0, 2.0]]), "half": [[0.5]]})
    return tmp_path / "table.mat"


def test_whole_numbers_become_integers(path):
    table = read_variable(path, "whole", dataset="x")
    assert table.dtype == np.int64
    assert table.tolist() == [[1, 2]]


def test_a_variable_that_is_not_there_is_named_with_those_that_are(path):
    with pytest.raises(DataError, match=r"table.mat does not hold query_IDX; it holds half, whole"):
        read_variable(path, "query_IDX", dataset="x")


def test_fractions_are_refused(path):
    with pytest.raises(DataError, match=r"half in .* is float64 \(1, 1\); expected whole numbers"):
        read_variable(path, "half", dataset="x")


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "table.mat").write_bytes(b"MATLAB 5.0 MAT-file" + bytes(150))
    with pytest.raises(DataError, match=r"data set x: .*table.mat cannot be read"):
        read_variable(tmp_path / "table.mat", "whole", dataset="x")
