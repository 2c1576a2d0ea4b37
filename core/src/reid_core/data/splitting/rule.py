"""How a data set is cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reid_core.errors import ConfigError

SplitBy = Literal["identity", "camera", "time"]
Leftover = Literal["train", "gallery", "drop"]


@dataclass(frozen=True)
class SplitRule:
    """How a data set is cut into train, query and gallery.

    Identities of the test are never trained on. ``identity`` asks no more than that. ``camera``
    also keeps some cameras out of training, and tests in them alone. ``time`` also trains on the
    earlier images alone, and asks with later images for earlier ones.

    An identity can be tested where one of its images can be a query with another image to find:
    of another camera where cameras are known, of another time where they are not and times are.
    The others are left over.

    Args:
        by: What is held out.
        test: Share of the identities that can be tested, between 0 and 1, or their number, a whole
            number from 1 on.
        query: Queries for each tested identity and camera, at least 1; for each identity where
            cameras are not known.
        open_set: Share of the test identities that are unknown, from 0 to less than 1; above 0 it
            is one at least. They have queries, and no image in the gallery.
        leftover: Where identities go that cannot be tested: to training, to the gallery as
            distractors, or nowhere.
        cameras: Cameras to hold out, as the source spells them; none draws ``test`` of them, two at
            least.
        mix_times: Draw queries without regard to time where cameras are not known.
        seed: Another seed draws others.

    Raises:
        ConfigError: A value is out of range, or two do not go together.
    """

    by: SplitBy = "identity"
    test: float = 0.3
    query: int = 1
    open_set: float = 0.0
    leftover: Leftover = "train"
    cameras: tuple[str, ...] = ()
    mix_times: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if not (0 < self.test < 1 or (self.test >= 1 and float(self.test).is_integer())):
            raise ConfigError(
                f"--test {self.test:g}: expected a share between 0 and 1, or a whole number of "
                "identities"
            )
        if self.query < 1:
            raise ConfigError(f"--query {self.query}: expected at least 1")
        if not 0 <= self.open_set < 1:
            raise ConfigError(f"--open-set {self.open_set:g}: expected from 0 to less than 1")
        if self.cameras and self.by != "camera":
            raise ConfigError(f"--cameras belongs to --by camera; got --by {self.by}")
        if self.mix_times and self.by == "time":
            raise ConfigError("--mix-times and --by time contradict each other; leave one out")

    def number(self, available: int) -> int:
        """Return how many of so many identities are tested; at least 1 where there are any."""
        if self.test >= 1:
            return int(self.test)
        return min(available, max(1, round(self.test * available)))
