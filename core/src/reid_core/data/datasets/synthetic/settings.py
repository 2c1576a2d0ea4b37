"""What a user may ask of the data set, checked before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass

from reid_core.data.datasets.synthetic.cameras import LENSES
from reid_core.data.datasets.synthetic.difficulty import PROFILES, Difficulty, Profile
from reid_core.errors import DataError, did_you_mean

#: Raise it with every change that moves a pixel: it keeps old pictures from being taken for new.
GENERATOR_VERSION = 1

#: Smallest and largest value of each number, both allowed.
LIMITS: dict[str, tuple[int, int]] = {
    "seed": (0, 2**32 - 1),
    "identities": (2, 4000),
    "test_identities": (2, 4000),
    "cameras": (2, len(LENSES)),
    "shots": (2, 99),
}


@dataclass(frozen=True)
class Settings:
    """All that the pictures depend on.

    Args:
        seed: Another seed gives other people, places and cameras.
        identities: People to train on.
        test_identities: People to be found again; none of them is trained on.
        cameras: Cameras; each one sees every person.
        shots: Pictures of a person by a camera.
        difficulty: How much stands between a network and the identity.

    Raises:
        DataError: A value is out of range; the message names every one that is.
    """

    seed: int
    identities: int
    test_identities: int
    cameras: int
    shots: int
    difficulty: Difficulty

    def __post_init__(self) -> None:
        problems = [
            f"{name} is {getattr(self, name)}, expected {low} to {high}"
            for name, (low, high) in LIMITS.items()
            if not low <= getattr(self, name) <= high
        ]
        if self.difficulty not in PROFILES:
            hint = did_you_mean(str(self.difficulty), PROFILES)
            problems.append(
                f"difficulty is {self.difficulty!r}, expected one of {', '.join(PROFILES)}{hint}"
            )
        if problems:
            raise DataError(f"data set synthetic: {'; '.join(problems)}")

    @property
    def profile(self) -> Profile:
        """The numbers behind ``difficulty``."""
        return PROFILES[self.difficulty]

    @property
    def folder_name(self) -> str:
        """A name that no other settings have."""
        return (
            f"v{GENERATOR_VERSION}-{self.difficulty}-seed{self.seed}-train{self.identities}"
            f"-test{self.test_identities}-cameras{self.cameras}-shots{self.shots}"
        )
