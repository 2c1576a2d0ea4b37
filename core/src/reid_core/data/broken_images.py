"""Which images could not be read, and what became of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class BrokenImage:
    """An image that a run went on without.

    Args:
        path: Where it is.
        row: Its row among the images that are trained on, or among those of the test set.
        dataset: Name of its data set.
        reason: What is wrong with it.
        replaced_by: Where the image is that was trained on instead; None in a test set, which it
            was left out of.
    """

    path: str
    row: int
    dataset: str
    reason: str
    replaced_by: str | None = None


class BrokenImages:
    """The broken images that were met, each row once, in the order they were met."""

    def __init__(self) -> None:
        self._by_row: dict[int, BrokenImage] = {}

    def __len__(self) -> int:
        return len(self._by_row)

    def __iter__(self) -> Iterator[BrokenImage]:
        return iter(self._by_row.values())

    def note(self, images: Iterable[BrokenImage]) -> list[BrokenImage]:
        """Take images in; return those that were not known."""
        news = []
        for image in images:
            if image.row not in self._by_row:
                self._by_row[image.row] = image
                news.append(image)
        return news
