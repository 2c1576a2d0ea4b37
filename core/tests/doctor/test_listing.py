from reid_core.doctor import listing
from reid_core.doctor.listing import Listings


def tree(tmp_path, folders):
    for folder in range(folders):
        (tmp_path / str(folder)).mkdir()
        for name in "ab":
            (tmp_path / str(folder) / name).touch()
    return Listings(str(tmp_path))


def counted(monkeypatch):
    asked = []
    real = listing._listed
    monkeypatch.setattr(listing, "_listed", lambda folder: (asked.append(folder), real(folder))[1])
    return asked


def test_a_folder_is_listed_once_while_there_is_room(tmp_path, monkeypatch):
    listings, asked = tree(tmp_path, 3), counted(monkeypatch)
    for _ in range(3):
        for folder in "012":
            assert listings.of(folder).files == {"a", "b"}
    assert len(asked) == 3
    assert listings.of("none").files == frozenset()


def test_the_first_folders_are_forgotten_and_listed_again(tmp_path, monkeypatch):
    monkeypatch.setattr(listing, "_MOST_NAMES", 4)
    listings, asked = tree(tmp_path, 5), counted(monkeypatch)
    for _ in range(2):
        for folder in "01234":
            assert listings.of(folder).files == {"a", "b"}
    assert len(asked) == 10
    assert len(listings._known) < 5


def test_rows_that_jump_between_folders_do_not_list_them_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(listing, "_MOST_NAMES", 4)
    listings, asked = tree(tmp_path, 5), counted(monkeypatch)
    for step in range(5000):
        listings.of(str(step % 5))
    assert len(asked) < 5 * 5 + 110
