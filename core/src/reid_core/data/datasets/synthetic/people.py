"""Who walks through the pictures: the traits that tell one identity from another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from reid_core.data.datasets.synthetic.colours import (
    HAIR,
    SKIN,
    Colour,
    clothes_colour,
    dye,
)
from reid_core.data.datasets.synthetic.streams import Stream

HairStyle: TypeAlias = Literal["short", "long", "bun", "bald"]
TopKind: TypeAlias = Literal["tee", "sweater", "jacket", "coat"]
BottomKind: TypeAlias = Literal["trousers", "shorts", "skirt"]
Pattern: TypeAlias = Literal["plain", "stripes", "pinstripes", "checks", "band", "logo"]
BagKind: TypeAlias = Literal["none", "backpack", "shoulder", "handbag"]
HatKind: TypeAlias = Literal["none", "cap", "beanie"]

BLACK: Colour = (0, 0, 0)

HAIR_STYLES: tuple[HairStyle, ...] = ("short", "short", "long", "long", "bun", "bald")
TOPS: tuple[TopKind, ...] = ("tee", "sweater", "jacket", "coat")
BOTTOMS: tuple[BottomKind, ...] = ("trousers", "trousers", "shorts", "skirt")
PATTERNS: tuple[Pattern, ...] = (
    "plain",
    "plain",
    "stripes",
    "pinstripes",
    "checks",
    "band",
    "logo",
)
BAGS: tuple[BagKind, ...] = ("none", "none", "backpack", "shoulder", "handbag")
HATS: tuple[HatKind, ...] = ("none", "none", "none", "cap", "beanie")


@dataclass(frozen=True)
class Person:
    """One identity.

    Args:
        height: Percent of the average height.
        build: Percent of the average width.
        skin: Colour of the skin.
        hair: Colour of the hair.
        hair_style: How the hair is worn.
        top: Kind of garment above the waist.
        top_colour: Its colour.
        trim: The colour of its pattern, or of what an open jacket shows.
        pattern: What is printed on the top.
        period: Width of the pattern's repeat, in eighths of a pixel.
        bottom: Kind of garment below the waist.
        bottom_colour: Its colour.
        shoes: Colour of the shoes.
        bag: What is carried.
        bag_colour: Its colour.
        hat: What is worn on the head.
        hat_colour: Its colour.
    """

    height: int
    build: int
    skin: Colour
    hair: Colour
    hair_style: HairStyle
    top: TopKind
    top_colour: Colour
    trim: Colour
    pattern: Pattern
    period: int
    bottom: BottomKind
    bottom_colour: Colour
    shoes: Colour
    bag: BagKind
    bag_colour: Colour
    hat: HatKind
    hat_colour: Colour


def stranger(stream: Stream) -> Person:
    """Return a person whose traits are all drawn anew."""
    top_colour = clothes_colour(stream)
    bottom_colour = clothes_colour(stream)
    return Person(
        height=stream.integer(88, 106),
        build=stream.integer(84, 118),
        skin=dye(stream, stream.choice(SKIN), 8),
        hair=dye(stream, stream.choice(HAIR), 8),
        hair_style=stream.choice(HAIR_STYLES),
        top=stream.choice(TOPS),
        top_colour=top_colour,
        trim=clothes_colour(stream, unlike=top_colour),
        pattern=stream.choice(PATTERNS),
        period=stream.choice((48, 72)),
        bottom=stream.choice(BOTTOMS),
        bottom_colour=bottom_colour,
        shoes=clothes_colour(stream),
        bag=stream.choice(BAGS),
        bag_colour=clothes_colour(stream, unlike=top_colour),
        hat=stream.choice(HATS),
        hat_colour=clothes_colour(stream),
    )


def lookalike(stream: Stream, person: Person) -> Person:
    """Return someone dressed like ``person`` who differs in the bag, the pattern or the bottom."""
    other = stranger(stream)
    trait = stream.choice(("bag", "pattern", "bottom"))
    if trait == "bag":
        bag = stream.choice([kind for kind in sorted(set(BAGS)) if kind != person.bag])
        return replace(person, bag=bag, bag_colour=other.bag_colour)
    if trait == "pattern":
        pattern = stream.choice([kind for kind in sorted(set(PATTERNS)) if kind != person.pattern])
        trim = clothes_colour(stream, unlike=person.top_colour)
        return replace(person, pattern=pattern, trim=trim, period=other.period)
    colour = clothes_colour(stream, unlike=person.bottom_colour)
    return replace(person, bottom_colour=colour, shoes=other.shoes)


def seen(person: Person) -> Person:
    """Return ``person`` with what nobody can see set to black, so that equal means looks equal."""
    unprinted = person.pattern == "plain"
    open_front = person.top in ("jacket", "coat")
    return replace(
        person,
        hair=BLACK if person.hair_style == "bald" else person.hair,
        trim=BLACK if unprinted and not open_front else person.trim,
        period=0 if unprinted else person.period,
        bag_colour=BLACK if person.bag == "none" else person.bag_colour,
        hat_colour=BLACK if person.hat == "none" else person.hat_colour,
    )


def crowd(stream: Stream, count: int, lookalike_percent: int) -> list[Person]:
    """Return ``count`` people of whom no two look the same.

    Args:
        stream: Where the randomness comes from; the first people do not depend on ``count``.
        count: How many.
        lookalike_percent: How many in a hundred are dressed like the person before them.
    """
    people: list[Person] = []
    looks: set[Person] = set()
    while len(people) < count:
        copies = bool(people) and stream.chance(lookalike_percent)
        person = seen(lookalike(stream, people[-1]) if copies else stranger(stream))
        if person not in looks:
            looks.add(person)
            people.append(person)
    return people
