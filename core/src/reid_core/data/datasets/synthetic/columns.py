"""What is known of each picture besides who is in it: the side that is seen, and attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from reid_core.data.datasets.synthetic.difficulty import Profile
from reid_core.data.datasets.synthetic.people import Person
from reid_core.data.datasets.synthetic.plan import Picture
from reid_core.data.datasets.synthetic.shots import VIEWS, take_shot
from reid_core.data.datasets.synthetic.streams import Stream

#: What an identity has or has not, in the order of the column ``attributes``.
ATTRIBUTES: Mapping[str, Callable[[Person], bool]] = {
    "long_hair": lambda person: person.hair_style == "long",
    "hat": lambda person: person.hat != "none",
    "bag": lambda person: person.bag != "none",
    "backpack": lambda person: person.bag == "backpack",
    "coat_or_jacket": lambda person: person.top in ("coat", "jacket"),
    "patterned_top": lambda person: person.pattern != "plain",
    "trousers": lambda person: person.bottom == "trousers",
    "skirt": lambda person: person.bottom == "skirt",
}


def columns(pictures: Sequence[Picture], profile: Profile) -> dict[str, NDArray[np.generic]]:
    """Return the further columns of a manifest.

    Args:
        pictures: The rows.
        profile: How varied the pictures are, which their random streams depend on.

    Returns:
        ``viewids`` (N,) int64, the side of the person that is seen: 0 front, 1 back, 2 left,
        3 right; ``attributes`` (N, 8) int64, 0 or 1 in the order of :data:`ATTRIBUTES`, all 0 where
        nobody is in the picture.
    """
    views = [VIEWS.index(take_shot(Stream(*p.key), profile).view) for p in pictures]
    rows = [
        [p.person is not None and has(p.person) for has in ATTRIBUTES.values()] for p in pictures
    ]
    return {
        "viewids": np.array(views, dtype=np.int64),
        "attributes": np.array(rows, dtype=np.int64).reshape(len(pictures), len(ATTRIBUTES)),
    }
