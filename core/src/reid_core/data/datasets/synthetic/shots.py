"""What changes from one picture of a person to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from reid_core.data.datasets.synthetic.difficulty import Profile
from reid_core.data.datasets.synthetic.streams import Stream

View: TypeAlias = Literal["front", "back", "left", "right"]
Obstacle: TypeAlias = Literal["none", "post", "bench"]

VIEWS: tuple[View, ...] = ("front", "back", "left", "right")
#: Phases of a full walking cycle of two steps.
PHASES = 16


@dataclass(frozen=True)
class Shot:
    """One moment before one camera.

    Args:
        view: Which side of the person is seen.
        phase: Where in the walking cycle, 0..15.
        scale: Percent of the usual size.
        shift: How far the person is off the middle, right and down, in units.
        light: Brightness of the moment in 1/256.
        scroll: Where the background starts, in pixels.
        obstacle: What stands before the person.
        obstacle_at: Where it stands, in units from the left.
        passer_by: Where another person walks behind, in units from the middle; None for nobody.
    """

    view: View
    phase: int
    scale: int
    shift: tuple[int, int]
    light: int
    scroll: int
    obstacle: Obstacle
    obstacle_at: int
    passer_by: int | None


def take_shot(stream: Stream, profile: Profile) -> Shot:
    """Return a shot as varied as ``profile`` asks for."""
    loose = profile.framing
    hidden = stream.chance(profile.obstacle_percent)
    crowded = stream.chance(profile.passer_by_percent)
    return Shot(
        view=stream.choice(VIEWS),
        phase=stream.integer(0, PHASES - 1),
        scale=stream.integer(100 - loose, 100 + loose // 2),
        shift=(stream.integer(-4 * loose, 4 * loose), stream.integer(-3 * loose, 2 * loose)),
        light=stream.integer(256 - profile.light, 256 + profile.light),
        scroll=stream.integer(0, 255),
        obstacle=stream.choice(("post", "bench")) if hidden else "none",
        obstacle_at=stream.integer(80, 432),
        passer_by=stream.choice((-1, 1)) * stream.integer(130, 230) if crowded else None,
    )
