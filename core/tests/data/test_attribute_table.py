import numpy as np
import pytest

from reid_core.data.attribute_table import UNKNOWN, read_attributes
from reid_core.errors import DataError

PIDS = np.array([7, 3, 7, 9])
REQUIRED = np.array([True, True, True, False])


def read(tmp_path, text):
    path = tmp_path / "attributes.csv"
    path.write_text(text)
    return read_attributes(path, PIDS, dataset="mine", required=REQUIRED)


def test_each_row_gets_the_attributes_of_its_identity(tmp_path):
    values, names = read(tmp_path, "hat,pid,bag\n1,3,0\n0,7,1\n")
    assert names == ("hat", "bag")
    assert values.tolist() == [[0, 1], [1, 0], [0, 1], [UNKNOWN, UNKNOWN]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "missing; expected the names"),
        ("id,hat\n3,1\n", "expected the names of the columns: pid and"),
        ("pid\n3\n", "at least one attribute"),
        ("pid,hat\n3,1\n", "lacks 1 of the training identities, for example 7"),
        ("pid,hat\n3,1\n7,2\n", "line 3: '2' is neither 0 nor 1"),
        ("pid,hat\n3,1\n7,yes\n", "line 3: 'yes' is neither 0 nor 1"),
        ("pid,hat\n3,1,1\n", "line 2: 3 values, not 2"),
        ("pid,hat\n3,1\n3,1\n", "line 3: identity 3 is there twice"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path, text)


def test_numbers_may_be_written_as_in_the_names_of_files(tmp_path):
    values, _ = read(tmp_path, "pid,hat\n0003,1\n0007,0\n")
    assert values[:2, 0].tolist() == read(tmp_path, "pid,hat\n3,1\n7,0\n")[0][:2, 0].tolist()
    with pytest.raises(DataError, match="line 3: identity 3 is there twice"):
        read(tmp_path, "pid,hat\n3,1\n0003,1\n7,0\n")


def test_what_is_not_known_may_be_said_or_left_out(tmp_path):
    values, _ = read(tmp_path, "pid,hat,bag\n3,-1,0\n7,1,\n")
    assert values.tolist() == [[1, UNKNOWN], [UNKNOWN, 0], [1, UNKNOWN], [UNKNOWN, UNKNOWN]]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nowhere.csv cannot be read"):
        read_attributes(tmp_path / "nowhere.csv", PIDS, dataset="mine", required=REQUIRED)
