"""People as they are drawn."""

from dataclasses import replace

import numpy as np
import pytest

from reid_core.data.datasets.synthetic.canvas import UNITS, Canvas
from reid_core.data.datasets.synthetic.figure import draw_person
from reid_core.data.datasets.synthetic.people import Person
from reid_core.data.datasets.synthetic.shots import VIEWS, Shot
from reid_core.data.datasets.synthetic.skeleton import GROUND, pose

PERSON = Person(
    height=100,
    build=100,
    skin=(228, 184, 150),
    hair=(70, 46, 32),
    hair_style="short",
    top="sweater",
    top_colour=(186, 40, 44),
    trim=(236, 236, 232),
    pattern="stripes",
    period=48,
    bottom="trousers",
    bottom_colour=(36, 58, 122),
    shoes=(40, 42, 50),
    bag="backpack",
    bag_colour=(60, 138, 68),
    hat="cap",
    hat_colour=(232, 202, 66),
)
SHOT = Shot(
    view="front",
    phase=2,
    scale=100,
    shift=(0, 0),
    light=256,
    scroll=0,
    obstacle="none",
    obstacle_at=0,
    passer_by=None,
)


def drawn(person: Person, view="front", **changes) -> np.ndarray:
    canvas = Canvas(np.full((256, 128, 3), 255, dtype=np.uint8))
    draw_person(canvas, person, replace(SHOT, view=view, **changes))
    return canvas.pixels


@pytest.mark.parametrize(
    "change",
    [
        {"height": 90},
        {"build": 115},
        {"skin": (84, 56, 42)},
        {"hair": (206, 166, 98)},
        {"hair_style": "long"},
        {"hair_style": "bun"},
        {"hair_style": "bald"},
        {"top": "tee"},
        {"top": "jacket"},
        {"top": "coat"},
        {"top_colour": (44, 150, 150)},
        {"trim": (120, 66, 150)},
        {"pattern": "plain"},
        {"pattern": "pinstripes"},
        {"pattern": "checks"},
        {"pattern": "band"},
        {"pattern": "logo"},
        {"period": 72},
        {"bottom": "shorts"},
        {"bottom": "skirt"},
        {"bottom_colour": (198, 172, 132)},
        {"shoes": (226, 122, 38)},
        {"bag": "none"},
        {"bag": "shoulder"},
        {"bag": "handbag"},
        {"bag_colour": (222, 126, 164)},
        {"hat": "none"},
        {"hat": "beanie"},
        {"hat_colour": (122, 78, 48)},
    ],
    ids=str,
)
def test_every_trait_is_seen_from_more_than_one_side(change):
    other = replace(PERSON, **change)
    visible = [view for view in VIEWS if (drawn(other, view) != drawn(PERSON, view)).any()]
    assert len(visible) >= 2


@pytest.mark.parametrize("view", VIEWS)
def test_walking_moves_the_limbs(view):
    assert (drawn(PERSON, view, phase=0) != drawn(PERSON, view, phase=4)).any()


def test_front_and_back_differ():
    assert (drawn(PERSON, "front") != drawn(PERSON, "back")).any()


def test_a_smaller_person_covers_fewer_rows():
    def rows(scale: int) -> int:
        return int((drawn(PERSON, scale=scale) < 255).any(axis=(1, 2)).sum())

    assert rows(80) < rows(90) < rows(100)


def test_the_figure_moves_with_its_shift():
    here, right = drawn(PERSON), drawn(PERSON, shift=(4 * UNITS, 0))
    np.testing.assert_array_equal(right[:, 8:], here[:, :-8])


def test_right_is_left_walked_the_other_way():
    left, right = (pose(PERSON, replace(SHOT, view=view)) for view in ("left", "right"))
    assert (left.facing, right.facing) == (-1, 1)
    for name in ("near_leg", "far_leg", "near_arm", "far_arm"):
        for joint in ("root", "joint", "end"):
            one, other = getattr(getattr(left, name), joint), getattr(getattr(right, name), joint)
            # A negative number is cut off to the other side: one unit.
            assert abs((one[0] - 256) + (other[0] - 256)) <= 1
            assert one[1] == other[1]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("phase", range(16))
def test_one_foot_is_always_on_the_ground(view, phase):
    body = pose(PERSON, replace(SHOT, view=view, phase=phase))
    ankle = max(body.near_leg.end[1], body.far_leg.end[1])
    assert abs(ankle + body.length(48) - GROUND) <= 8
