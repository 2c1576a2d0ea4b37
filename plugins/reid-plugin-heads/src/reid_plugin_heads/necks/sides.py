"""The names of the two sides of a neck."""

from __future__ import annotations

from typing import Literal

#: Before or after what the neck ends with, its batch normalisation.
NeckSide = Literal["before", "after"]
