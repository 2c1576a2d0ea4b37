import pytest

from reid_core.errors import DataError
from reid_plugin_datasets.names import read_names, read_numbers


def test_names_made_on_windows_are_read(tmp_path):
    path = tmp_path / "names.txt"
    path.write_bytes("\ufeffa b/1.jpg\r\n\r\nMärket\\2.jpg\r\n".encode())
    assert read_names(path, dataset="x") == ["a b/1.jpg", "Märket/2.jpg"]


def test_an_empty_file_of_names_is_refused(tmp_path):
    (tmp_path / "names.txt").write_text("\n \n")
    with pytest.raises(DataError, match=r"data set x: .*names.txt holds no line"):
        read_names(tmp_path / "names.txt", dataset="x")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"names.txt cannot be read"):
        read_names(tmp_path / "names.txt", dataset="x")


@pytest.mark.parametrize("text", ["5,1,12", "5, 1,12\r\n", "12\n5\n1\n5\n"])
def test_numbers_are_sorted_whatever_separates_them(tmp_path, text):
    (tmp_path / "ids.txt").write_text(text, newline="")
    assert read_numbers(tmp_path / "ids.txt", dataset="x") == [1, 5, 12]


@pytest.mark.parametrize(
    ("text", "found"), [("1,two", "'two'"), ("1,-2", "'-2'"), (" ", "nothing")]
)
def test_what_is_no_identity_is_refused(tmp_path, text, found):
    (tmp_path / "ids.txt").write_text(text)
    with pytest.raises(DataError, match=rf"holds {found}; expected identities, such as 1,5,12"):
        read_numbers(tmp_path / "ids.txt", dataset="x")
