"""A person drawn on a canvas, from the far limbs to the near ones."""

from __future__ import annotations

from reid_core.data.datasets.synthetic.bags import draw_bag_before, draw_bag_behind, draw_handbag
from reid_core.data.datasets.synthetic.canvas import Canvas, Paint, Point
from reid_core.data.datasets.synthetic.colours import darker
from reid_core.data.datasets.synthetic.head import draw_head
from reid_core.data.datasets.synthetic.people import Person
from reid_core.data.datasets.synthetic.shots import Shot, View
from reid_core.data.datasets.synthetic.skeleton import Limb, Skeleton, pose


def draw_person(canvas: Canvas, person: Person, shot: Shot) -> None:
    """Draw ``person`` as seen in ``shot``."""
    body = pose(person, shot)
    foot = body.hips[0], body.hips[1] + body.length(455)
    canvas.shade(foot, (body.width(190), body.length(22)), 150)
    if body.facing:
        _draw_arm(canvas, person, body, body.far_arm)
    draw_bag_behind(canvas, person, body, shot.view)
    _draw_leg(canvas, person, body, body.far_leg)
    _draw_leg(canvas, person, body, body.near_leg)
    _draw_skirt(canvas, person, body)
    if not body.facing:
        _draw_arm(canvas, person, body, body.far_arm)
        _draw_arm(canvas, person, body, body.near_arm)
    _draw_torso(canvas, person, body, shot.view)
    draw_bag_before(canvas, person, body, shot.view)
    draw_head(canvas, person, body, shot.view)
    if body.facing:
        _draw_arm(canvas, person, body, body.near_arm)
    draw_handbag(canvas, person, body, shot.view)


def _draw_leg(canvas: Canvas, person: Person, body: Skeleton, leg: Limb) -> None:
    cloth, skin = Paint(person.bottom_colour), Paint(person.skin)
    thigh = skin if person.bottom == "skirt" else cloth
    calf = cloth if person.bottom == "trousers" else skin
    toes = leg.end[0] + body.facing * body.length(38), leg.end[1] + body.length(22)
    heel = leg.end[0] - body.facing * body.length(8), leg.end[1] + body.length(20)
    canvas.limb(leg.joint, leg.end, (body.width(40), body.width(28)), calf)
    canvas.limb(leg.root, leg.joint, (body.width(56), body.width(44)), thigh)
    canvas.limb(heel, toes, (body.width(26), body.width(24)), Paint(person.shoes))


def _draw_skirt(canvas: Canvas, person: Person, body: Skeleton) -> None:
    if person.bottom != "skirt":
        return
    hem = body.hips[0], body.hips[1] + body.length(190)
    waist = body.hips[0], body.hips[1] - body.length(40)
    narrow = 76 if body.facing else 92
    widths = body.width(narrow), body.width(narrow + 40)
    canvas.trapezoid(waist, hem, widths, Paint(person.bottom_colour))


def _draw_torso(canvas: Canvas, person: Person, body: Skeleton, view: View) -> None:
    shoulders, hips = (70, 66) if body.facing else (104, 86)
    length = body.length(160 if person.top == "coat" else 20)
    hem = body.hips[0], body.hips[1] + length
    flare = 22 if person.top == "coat" else 0
    # A logo is on the chest alone; the other patterns go round the body.
    plain = person.pattern == "logo" and view != "front"
    pattern = "plain" if plain else person.pattern
    paint = Paint(person.top_colour, person.trim, pattern, person.period)
    widths = body.width(shoulders), body.width(hips + flare)
    canvas.trapezoid(body.shoulders, hem, widths, paint, bevel=body.width(44))
    if person.top in ("jacket", "coat") and view != "back":
        _draw_shirt(canvas, person, body, hem)


def _draw_shirt(canvas: Canvas, person: Person, body: Skeleton, hem: Point) -> None:
    """Draw what an open jacket or coat shows."""
    aside = body.facing * body.width(54)
    collar, edge = (body.shoulders[0] + aside, body.shoulders[1]), (hem[0] + aside, hem[1])
    upper, lower = (14, 12) if body.facing else (34, 22)
    widths = body.width(upper), body.width(lower)
    canvas.trapezoid(collar, edge, widths, Paint(person.trim, depth=20))


def _draw_arm(canvas: Canvas, person: Person, body: Skeleton, arm: Limb) -> None:
    # Darker than the chest, or the arm could not be told from it.
    sleeve, skin = Paint(darker(person.top_colour, 88), depth=70), Paint(person.skin)
    lower = skin if person.top == "tee" else sleeve
    canvas.limb(arm.joint, arm.end, (body.width(26), body.width(22)), lower)
    canvas.limb(arm.root, arm.joint, (body.width(36), body.width(28)), sleeve)
    hand = arm.end[0], arm.end[1] + body.length(16)
    canvas.ellipse(hand, (body.width(21), body.length(20)), skin)
