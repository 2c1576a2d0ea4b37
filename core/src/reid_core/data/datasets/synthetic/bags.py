"""Bags, and how they are carried."""

from __future__ import annotations

from reid_core.data.datasets.synthetic.canvas import Canvas, Paint
from reid_core.data.datasets.synthetic.colours import darker
from reid_core.data.datasets.synthetic.people import Person
from reid_core.data.datasets.synthetic.shots import View
from reid_core.data.datasets.synthetic.skeleton import Skeleton


def draw_bag_behind(canvas: Canvas, person: Person, body: Skeleton, view: View) -> None:
    """Draw what of a backpack the body hides in part, seen from the front or the side."""
    if person.bag != "backpack" or view == "back":
        return
    x, y = body.shoulders[0] - body.facing * body.width(92), body.shoulders[1] + body.length(25)
    half = body.width(62 if body.facing else 138)
    low = y + body.length(240 if body.facing else 120)
    paint = Paint(person.bag_colour)
    canvas.trapezoid((x, y), (x, low), (half, half), paint, bevel=body.width(30))


def draw_bag_before(canvas: Canvas, person: Person, body: Skeleton, view: View) -> None:
    """Draw what of a backpack or a shoulder bag lies over the clothes."""
    if person.bag == "backpack" and view == "back":
        _draw_backpack(canvas, person, body)
    elif person.bag == "backpack" and view == "front":
        _draw_straps(canvas, person, body)
    elif person.bag == "shoulder":
        # Worn over the right shoulder, so that it hangs on the other side seen from behind.
        _draw_shoulder_bag(canvas, person, body, {"front": 1, "back": -1}.get(view, 0))


def draw_handbag(canvas: Canvas, person: Person, body: Skeleton, view: View) -> None:
    """Draw a bag in the hand."""
    if person.bag != "handbag":
        return
    # It is in the person's right hand, which is the near one from the front.
    arm = body.far_arm if view == "back" else body.near_arm
    x, y = arm.end[0], arm.end[1] + body.length(20)
    seam, low = y + body.length(50), y + body.length(160)
    paint = Paint(person.bag_colour)
    canvas.trapezoid((x, y), (x, seam), (body.width(8), body.width(60)), paint)
    canvas.trapezoid((x, seam), (x, low), (body.width(66), body.width(72)), paint)


def _draw_backpack(canvas: Canvas, person: Person, body: Skeleton) -> None:
    x, y = body.shoulders
    top, low = y + body.length(20), y + body.length(285)
    half = body.width(100)
    paint = Paint(person.bag_colour)
    canvas.trapezoid((x, top), (x, low), (half, half), paint, bevel=body.width(36))
    pocket = Paint(darker(person.bag_colour, 75), depth=30)
    upper, lower = (x, low - body.length(110)), (x, low - body.length(20))
    canvas.trapezoid(upper, lower, (body.width(66), body.width(66)), pocket)


def _draw_straps(canvas: Canvas, person: Person, body: Skeleton) -> None:
    x, y = body.shoulders
    radius = body.width(17)
    for side in (-1, 1):
        start = x + side * body.width(82), y + body.length(10)
        end = x + side * body.width(86), y + body.length(230)
        canvas.limb(start, end, (radius, radius), Paint(person.bag_colour))


def _draw_shoulder_bag(canvas: Canvas, person: Person, body: Skeleton, side: int) -> None:
    x, y = body.shoulders
    paint = Paint(person.bag_colour)
    start = x - side * body.width(80), y + body.length(8)
    hip = x + side * body.width(120), y + body.length(330)
    canvas.limb(start, hip, (body.width(13), body.width(13)), paint)
    top, low = (hip[0], hip[1] - body.length(10)), (hip[0], hip[1] + body.length(110))
    canvas.trapezoid(top, low, (body.width(70), body.width(74)), paint)
