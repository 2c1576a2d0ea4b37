import re

from reid_core.report.plots.names import MAX_LENGTH, file_stems


def test_plain_names_stay():
    assert file_stems(["market1501", "msmt17-v2.1"]) == ("market1501", "msmt17-v2.1")


def test_names_that_differ_only_in_a_folder_stay_apart():
    # B163
    stems = file_stems(["a/1.jpg", "b/1.jpg", "a_1.jpg"])
    assert len(set(stems)) == 3
    assert stems[2] == "a_1.jpg"
    assert all("/" not in stem for stem in stems)


def test_names_that_differ_only_in_case_stay_apart_where_case_does_not_count():
    stems = file_stems(["Market", "market"])
    assert len({stem.casefold() for stem in stems}) == 2


def test_a_name_gives_the_same_file_beside_any_others():
    assert file_stems(["行人/1"])[0] == file_stems(["x", "行人/1"])[1]


def test_any_name_gives_a_short_and_safe_file_name():
    names = ["行人", "..", "-rf", "", 'a"b<c>', "x" * 300, "../../etc", "\udcff", "a\nb"]
    stems = file_stems(names)
    assert len(set(stems)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", stem) for stem in stems)
    assert max(map(len, stems)) <= MAX_LENGTH + 9
