"""How much of the data an epoch sees, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Certainty = Literal["exact", "at_least", "expected"]

_BEFORE = {"exact": "", "at_least": "at least ", "expected": "on average "}


@dataclass(frozen=True)
class Share:
    """A part of the images, or of the identities.

    Args:
        seen: How many, 0..``total``; an expected number need not be whole.
        total: How many there are, at least 1.
        certainty: ``"exact"``: so many in each epoch; ``"at_least"``: an epoch may see a few more;
            ``"expected"``: the mean over the epochs.
    """

    seen: float
    total: int
    certainty: Certainty = "exact"

    def of(self, noun: str) -> str:
        """Say it in words, such as ``at least 16 of 18 images (88.8%)``."""
        # Rounded down, so that 100.0% means all of them; the small number is for 0.57 · 1000.
        percent = math.floor(self.seen / self.total * 1000 + 1e-6) / 10
        return f"{_BEFORE[self.certainty]}{self.seen:.0f} of {self.total} {noun} ({percent:.1f}%)"


def coverage(images: Share, identities: Share) -> str:
    """Say what part of the data an epoch sees, as the end of a summary.

    Args:
        images: Different images that an epoch sees.
        identities: Different identities that it sees.
    """
    return f"it sees {images.of('images')} and {identities.of('identities')}"
