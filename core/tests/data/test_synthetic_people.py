from dataclasses import fields, replace
from itertools import pairwise

import pytest

from reid_core.data.datasets.synthetic.colours import distance
from reid_core.data.datasets.synthetic.people import Person, crowd, lookalike, seen, stranger
from reid_core.data.datasets.synthetic.plan import plan
from reid_core.data.datasets.synthetic.settings import Settings
from reid_core.data.datasets.synthetic.streams import Stream


def differing(one: Person, other: Person) -> set[str]:
    return {f.name for f in fields(Person) if getattr(one, f.name) != getattr(other, f.name)}


@pytest.mark.parametrize("seed", range(30))
def test_a_lookalike_differs_in_the_bag_the_pattern_or_the_bottom_alone(seed):
    person = stranger(Stream(seed, 0))
    changed = differing(person, lookalike(Stream(seed, 1), person))
    assert changed
    assert (
        changed <= {"bag", "bag_colour"}
        or changed <= {"pattern", "trim", "period"}
        or changed <= {"bottom_colour", "shoes"}
    )


def test_no_two_people_of_a_crowd_look_the_same():
    people = crowd(Stream(0), 200, 90)
    assert len({seen(person) for person in people}) == 200


def test_training_and_test_people_of_the_default_data_set_look_different():
    settings = Settings(0, 150, 60, 5, 3, "normal")
    looks: dict[bool, set[Person]] = {True: set(), False: set()}
    for picture in plan(settings):
        if picture.person is not None and picture.pid:
            looks[picture.split == "train"].add(seen(picture.person))
    assert (len(looks[True]), len(looks[False])) == (150, 60)
    assert not looks[True] & looks[False]


def test_what_cannot_be_seen_makes_no_difference():
    person = replace(
        stranger(Stream(0)), hair_style="bald", bag="none", hat="none", pattern="plain", top="tee"
    )
    hidden = {"hair", "bag_colour", "hat_colour", "trim"}
    for name in hidden:
        assert seen(replace(person, **{name: (1, 2, 3)})) == seen(person)
    assert seen(replace(person, period=5)) == seen(person)
    for name in ("skin", "top_colour", "bottom_colour", "shoes"):
        assert seen(replace(person, **{name: (1, 2, 3)})) != seen(person)


def test_an_open_jacket_shows_its_trim():
    person = replace(stranger(Stream(0)), pattern="plain", top="jacket")
    assert seen(replace(person, trim=(1, 2, 3))) != seen(person)


def test_the_first_people_do_not_depend_on_how_many_follow():
    assert crowd(Stream(5), 4, 50) == crowd(Stream(5), 40, 50)[:4]


def test_the_share_of_lookalikes_is_the_one_asked_for():
    def copies(percent: int) -> int:
        people = crowd(Stream(1), 300, percent)
        return sum(len(differing(a, b)) <= 2 for a, b in pairwise(people))

    assert copies(0) == 0
    assert 60 < copies(30) < 120


def test_a_pattern_can_be_told_from_what_it_is_printed_on():
    for seed in range(50):
        person = stranger(Stream(seed))
        assert distance(person.top_colour, person.trim) >= 110
