"""Where the joints of a walking person are."""

from __future__ import annotations

from dataclasses import dataclass

from reid_core.data.datasets.synthetic.canvas import Point
from reid_core.data.datasets.synthetic.people import Person
from reid_core.data.datasets.synthetic.shots import PHASES, Shot

#: 256 sin(2 pi k / 16), written down: the last bit of a computed sine differs between machines.
SINES = (0, 98, 181, 237, 256, 237, 181, 98, 0, -98, -181, -237, -256, -237, -181, -98)

#: Height of an average person in units, and the line the feet stand on.
BODY_HEIGHT = 920
GROUND = 996
#: The middle of the image.
MIDDLE = 256


@dataclass(frozen=True)
class Limb:
    """Three joints of an arm or a leg, from the body outwards."""

    root: Point
    joint: Point
    end: Point


@dataclass(frozen=True)
class Skeleton:
    """A person's joints in units; ``near`` is the camera's side, in front views the left one.

    Args:
        tall: Height from crown to sole.
        wide: Height times build, the measure of widths.
        head: Middle of the head.
        shoulders: Middle of the shoulder line.
        hips: Middle of the hip line.
        near_leg: Hip, knee and ankle.
        far_leg: The other one.
        near_arm: Shoulder, elbow and hand.
        far_arm: The other one.
        facing: 1 to the right, -1 to the left, 0 towards or away from the camera.
    """

    tall: int
    wide: int
    head: Point
    shoulders: Point
    hips: Point
    near_leg: Limb
    far_leg: Limb
    near_arm: Limb
    far_arm: Limb
    facing: int

    def length(self, thousandths: int) -> int:
        """Return a length along the body."""
        return self.tall * thousandths // 1000

    def width(self, thousandths: int) -> int:
        """Return a width across the body, which grows with the build."""
        return self.wide * thousandths // 1000


def pose(person: Person, shot: Shot) -> Skeleton:
    """Return where the joints of ``person`` are in ``shot``."""
    tall = BODY_HEIGHT * person.height * shot.scale // 10_000
    frame = _Frame(
        tall=tall,
        wide=tall * person.build // 100,
        middle=MIDDLE + shot.shift[0],
        crown=GROUND + shot.shift[1] - tall,
        facing={"left": -1, "right": 1}.get(shot.view, 0),
    )
    swing = SINES[shot.phase % PHASES]
    return Skeleton(
        tall=frame.tall,
        wide=frame.wide,
        head=frame.at(frame.facing * tall * 8 // 1000, 78),
        shoulders=frame.at(0, 158),
        hips=frame.at(0, 520),
        near_leg=frame.leg(-1, swing),
        far_leg=frame.leg(1, -swing),
        near_arm=frame.arm(-1, -swing),
        far_arm=frame.arm(1, swing),
        facing=frame.facing,
    )


@dataclass(frozen=True)
class _Frame:
    """Where a body is and how large, with what hangs on it; lengths are 1/1000 of the height."""

    tall: int
    wide: int
    middle: int
    crown: int
    facing: int

    def at(self, dx: int, down: int) -> Point:
        return self.middle + dx, self.crown + self.tall * down // 1000

    def leg(self, side: int, swing: int) -> Limb:
        if self.facing:
            # The leg behind is bent and its heel is off the ground.
            lift = max(0, -swing) * 34 // 256
            knee, ankle = self._ahead(62 * swing + 2800), self._ahead(122 * swing)
            return Limb(self.at(0, 510), self.at(knee, 730), self.at(ankle, 948 - lift))
        lift = max(0, swing) * 34 // 256
        hip, knee = self._aside(side * 48), self._aside(side * 53)
        return Limb(self.at(hip, 510), self.at(knee, 735 - lift // 2), self.at(hip, 955 - lift))

    def arm(self, side: int, swing: int) -> Limb:
        if self.facing:
            elbow, hand = self._ahead(50 * swing - 2000), self._ahead(110 * swing + 6000)
            return Limb(self.at(0, 205), self.at(elbow, 345), self.at(hand, 470))
        reach = swing * 16 // 256
        root, out = self._aside(side * 92), self._aside(side * 132)
        return Limb(self.at(root, 198), self.at(out, 345 - reach // 2), self.at(out, 475 - reach))

    def _ahead(self, swung: int) -> int:
        """Return a distance in walking direction; ``swung`` is in 1/256000 of the height."""
        return self.facing * self.tall * swung // 256_000

    def _aside(self, thousandths: int) -> int:
        return self.wide * thousandths // 1000
