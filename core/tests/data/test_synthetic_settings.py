import pytest

from reid_core.data.datasets.synthetic import synthetic
from reid_core.data.datasets.synthetic.settings import Settings
from reid_core.errors import DataError

GOOD = {
    "seed": 0,
    "identities": 3,
    "test_identities": 3,
    "cameras": 2,
    "shots": 2,
    "difficulty": "normal",
}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("seed", -1, "seed is -1, expected 0 to 4294967295"),
        ("identities", 1, "identities is 1, expected 2 to 4000"),
        ("test_identities", 4001, "test_identities is 4001, expected 2 to 4000"),
        ("cameras", 1, "cameras is 1, expected 2 to 8"),
        ("cameras", 9, "cameras is 9, expected 2 to 8"),
        ("shots", 1, "shots is 1, expected 2 to 99"),
        (
            "difficulty",
            "nrmal",
            "difficulty is 'nrmal', expected one of easy, normal, hard; did you mean normal?",
        ),
    ],
)
def test_a_value_out_of_range_is_named_with_its_range(name, value, expected):
    with pytest.raises(DataError) as caught:
        Settings(**{**GOOD, name: value})
    assert str(caught.value) == f"data set synthetic: {expected}"


def test_all_problems_are_named_at_once():
    with pytest.raises(DataError, match=r"cameras is 1.*shots is 0.*difficulty is 'x'"):
        Settings(**{**GOOD, "cameras": 1, "shots": 0, "difficulty": "x"})


def test_a_wrong_value_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("REID_CACHE", str(tmp_path / "cache"))
    with pytest.raises(DataError):
        synthetic(cameras=1)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", 1),
        ("identities", 4),
        ("test_identities", 4),
        ("cameras", 3),
        ("shots", 3),
        ("difficulty", "easy"),
    ],
)
def test_every_setting_is_part_of_the_folder_name(name, value):
    assert Settings(**{**GOOD, name: value}).folder_name != Settings(**GOOD).folder_name
