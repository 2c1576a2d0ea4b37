"""The places that the cameras look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reid_core.data.datasets.synthetic.canvas import Ints
from reid_core.data.datasets.synthetic.colours import Colour, dye
from reid_core.data.datasets.synthetic.streams import Purpose, Stream

HEIGHT, WIDTH = 128, 64

Wall: TypeAlias = Literal["bricks", "windows", "panels", "hedge"]
Floor: TypeAlias = Literal["plain", "tiles", "kerb", "grass"]

WALLS: tuple[Wall, ...] = ("bricks", "windows", "panels", "hedge")
FLOORS: tuple[Floor, ...] = ("plain", "tiles", "kerb", "grass")
WALL_COLOURS: tuple[Colour, ...] = (
    (168, 120, 96),
    (182, 178, 168),
    (126, 142, 156),
    (206, 190, 160),
    (112, 118, 112),
)
FLOOR_COLOURS: tuple[Colour, ...] = ((150, 148, 144), (120, 118, 120), (176, 166, 150))
GREEN: Colour = (92, 128, 70)


@dataclass(frozen=True)
class Place:
    """What stands behind the people of one camera.

    Args:
        wall: What the wall is made of.
        wall_colour: Its colour.
        floor: What the ground is made of.
        floor_colour: Its colour.
        horizon: Row where the wall meets the ground, in pixels.
    """

    wall: Wall
    wall_colour: Colour
    floor: Floor
    floor_colour: Colour
    horizon: int


def place_of(seed: int, camera: int) -> Place:
    """Return the place that camera ``camera`` (from 0) looks at."""
    stream = Stream(seed, Purpose.PLACE, camera)
    wall, floor = stream.choice(WALLS), stream.choice(FLOORS)
    return Place(
        wall=wall,
        wall_colour=dye(stream, GREEN if wall == "hedge" else stream.choice(WALL_COLOURS)),
        floor=floor,
        floor_colour=dye(stream, GREEN if floor == "grass" else stream.choice(FLOOR_COLOURS)),
        horizon=stream.integer(50, 92),
    )


def paint_place(place: Place, scroll: int, stream: Stream) -> NDArray[np.uint8]:
    """Return the empty scene at twice the finished resolution.

    Args:
        place: What to paint.
        scroll: Where the view starts, in pixels to the right.
        stream: Where stains and leaves come from.

    Returns:
        (2 H, 2 W, 3) uint8.
    """
    x = np.arange(WIDTH, dtype=np.int32)[None, :] + scroll
    y = np.arange(HEIGHT, dtype=np.int32)[:, None]
    stains = _stains(stream)
    above = y < place.horizon
    light = np.where(
        above,
        _wall_light(place.wall, x, y, stains),
        _floor_light(place.floor, x, y - place.horizon, stains),
    )
    colour = np.where(
        above[..., None],
        np.array(place.wall_colour, dtype=np.int32),
        np.array(place.floor_colour, dtype=np.int32),
    )
    lit = (colour * (light + stains // 8)[..., None]) >> 8
    scene: NDArray[np.uint8] = np.clip(lit, 0, 255).astype(np.uint8)
    return scene.repeat(2, axis=0).repeat(2, axis=1)


def _stains(stream: Stream) -> Ints:
    """Return soft blotches (H, W) int32, about -128..128."""
    coarse = stream.octets(HEIGHT // 8, WIDTH // 8) - 128
    wide = coarse.repeat(8, axis=0).repeat(8, axis=1)
    for axis in (0, 1):
        wide = (
            wide + np.roll(wide, 2, axis) + np.roll(wide, 4, axis) + np.roll(wide, 6, axis)
        ) >> 2
    return wide


def _wall_light(wall: Wall, x: Ints, y: Ints, stains: Ints) -> Ints:
    """Return the brightness of the wall in 1/256."""
    if wall == "bricks":
        joint = (y % 6 == 0) | ((x + (y // 6 % 2) * 6) % 12 == 0)
        return np.where(joint, 200, 256)
    if wall == "windows":
        return np.where((x % 26 > 7) & (y % 34 > 9), 120, 256)
    if wall == "panels":
        return np.where(x % 18 < 2, 190, 256) + 0 * y
    return 230 + np.where(((x * 7 + y * 13 + stains) & 31) < 10, -70, 20)


def _floor_light(floor: Floor, x: Ints, y: Ints, stains: Ints) -> Ints:
    """Return the brightness of the ground in 1/256; ``y`` counts from the horizon."""
    if floor == "tiles":
        return np.where((y % 9 == 0) | ((x * 2 + y) % 22 < 2), 215, 262)
    if floor == "kerb":
        return np.where(y < 8, 290, 235) + 0 * x
    if floor == "grass":
        return 240 + np.where(((x * 11 + y * 5 + stains) & 15) < 6, -50, 10)
    return 250 + 0 * (x + y)
