"""One finished picture: a place, people, what hides them, and the camera."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reid_core.data.datasets.synthetic.backgrounds import Place, paint_place
from reid_core.data.datasets.synthetic.cameras import Lens, expose
from reid_core.data.datasets.synthetic.canvas import Canvas, Paint
from reid_core.data.datasets.synthetic.difficulty import Profile
from reid_core.data.datasets.synthetic.figure import draw_person
from reid_core.data.datasets.synthetic.people import Person, stranger
from reid_core.data.datasets.synthetic.shots import VIEWS, Shot, take_shot
from reid_core.data.datasets.synthetic.streams import Stream

POST = Paint((92, 96, 100), depth=90)
BENCH = Paint((104, 76, 52), (84, 60, 40), "stripes", 56, 30)


@dataclass(frozen=True)
class Camera:
    """A place and the lens it is seen through."""

    place: Place
    lens: Lens


def draw(
    person: Person | None, camera: Camera, profile: Profile, stream: Stream
) -> NDArray[np.uint8]:
    """Return one picture.

    Args:
        person: Who is in it; None draws the empty place.
        camera: Where it is taken, and through which lens.
        profile: How hard it is.
        stream: Where pose, obstacles and noise come from.

    Returns:
        (128, 64, 3) uint8, red green blue.
    """
    shot = take_shot(stream, profile)
    canvas = Canvas(paint_place(camera.place, shot.scroll, stream))
    if shot.passer_by is not None:
        draw_person(canvas, stranger(stream), _behind(shot, shot.passer_by, stream))
    if person is not None:
        draw_person(canvas, person, shot)
    _draw_obstacle(canvas, shot)
    return expose(canvas.halved(), camera.lens, shot.light, profile.noise, stream)


def _behind(shot: Shot, aside: int, stream: Stream) -> Shot:
    shift = shot.shift[0] + aside, -30
    return replace(
        shot,
        view=stream.choice(VIEWS),
        phase=stream.integer(0, 15),
        scale=shot.scale - 12,
        shift=shift,
    )


def _draw_obstacle(canvas: Canvas, shot: Shot) -> None:
    if shot.obstacle == "post":
        top, bottom = (shot.obstacle_at, -8), (shot.obstacle_at, 1032)
        canvas.trapezoid(top, bottom, (36, 40), POST)
    elif shot.obstacle == "bench":
        height = 720 + shot.obstacle_at // 3
        canvas.trapezoid((256, height), (256, 1032), (300, 300), BENCH)
