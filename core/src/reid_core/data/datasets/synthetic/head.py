"""Neck, hair, face and hat."""

from __future__ import annotations

from reid_core.data.datasets.synthetic.canvas import Canvas, Paint
from reid_core.data.datasets.synthetic.people import Person
from reid_core.data.datasets.synthetic.shots import View
from reid_core.data.datasets.synthetic.skeleton import Skeleton

EYE = Paint((40, 32, 32), depth=0)


def draw_head(canvas: Canvas, person: Person, body: Skeleton, view: View) -> None:
    """Draw neck, hair, face and hat."""
    _draw_hair(canvas, person, body, view)
    if view == "back":
        _draw_hair_behind(canvas, person, body)
    else:
        _draw_face(canvas, person, body, view)
    _draw_hat(canvas, person, body, view)


def _draw_hair(canvas: Canvas, person: Person, body: Skeleton, view: View) -> None:
    """Draw what of the hair is behind the face."""
    if person.hair_style == "bald":
        return
    hair = Paint(person.hair)
    x, y = body.head
    behind = x - body.facing * body.length(10)
    canvas.ellipse((behind, y - body.length(6)), (body.length(58), body.length(70)), hair)
    if person.hair_style == "bun":
        bun = x - body.facing * body.length(56), y - body.length(20 if body.facing else 78)
        canvas.ellipse(bun, (body.length(30), body.length(28)), hair)
    if person.hair_style == "long" and view != "back":
        top = behind - body.facing * body.length(14), y
        tips = top[0] - body.facing * body.length(16), y + body.length(120)
        narrow = 40 if body.facing else 60
        canvas.trapezoid(top, tips, (body.length(narrow), body.length(narrow - 4)), hair)


def _draw_face(canvas: Canvas, person: Person, body: Skeleton, view: View) -> None:
    skin = Paint(person.skin)
    x, y = body.head
    neck = body.shoulders[0], y + body.length(95)
    canvas.limb((x, y), neck, (body.length(26), body.length(26)), skin)
    if person.hair_style == "bald":
        canvas.ellipse((x, y), (body.length(52), body.length(66)), skin)
    else:
        face = x + body.facing * body.length(18), y + body.length(18)
        canvas.ellipse(face, (body.length(42), body.length(48)), skin)
    for offset in (-20, 20) if view == "front" else (36 * body.facing,):
        eye = x + body.length(offset), y + body.length(12)
        canvas.ellipse(eye, (body.length(7), body.length(7)), EYE)


def _draw_hair_behind(canvas: Canvas, person: Person, body: Skeleton) -> None:
    """Draw the back of the head."""
    x, y = body.head
    back = Paint(person.skin if person.hair_style == "bald" else person.hair)
    neck = body.shoulders[0], y + body.length(95)
    canvas.limb((x, y), neck, (body.length(26), body.length(26)), Paint(person.skin))
    canvas.ellipse((x, y), (body.length(54), body.length(66)), back)
    if person.hair_style == "long":
        tips = x, y + body.length(140)
        canvas.trapezoid((x, y), tips, (body.length(58), body.length(50)), back)


def _draw_hat(canvas: Canvas, person: Person, body: Skeleton, view: View) -> None:
    if person.hat == "none":
        return
    x, y = body.head
    cloth = Paint(person.hat_colour)
    rise, brow = y - body.length(84), y - body.length(22)
    half = body.length(64)
    canvas.trapezoid((x, rise), (x, brow), (half, half), cloth, bevel=body.length(34))
    if person.hat == "beanie":
        canvas.ellipse((x, rise), (body.length(20), body.length(18)), cloth)
    elif view != "back":
        brim = x + body.facing * body.length(50), brow
        canvas.ellipse(brim, (body.length(56), body.length(14)), cloth)
