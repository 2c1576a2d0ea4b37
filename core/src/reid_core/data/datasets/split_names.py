"""The names that people give to the parts of a data set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reid_core.data.datasets.how_to_set import how_to_set
from reid_core.data.manifest import SPLITS, Split
from reid_core.errors import ConfigError, DataError

#: Spellings that are understood without being told, in small letters.
SPELLINGS: Mapping[str, Split] = {
    "train": "train",
    "training": "train",
    "bounding_box_train": "train",
    "image_train": "train",
    "query": "query",
    "queries": "query",
    "probe": "query",
    "image_query": "query",
    "gallery": "gallery",
    "test": "gallery",
    "bounding_box_test": "gallery",
    "image_test": "gallery",
}


class SplitsError(DataError):
    """The splits of a source cannot be taken as they are.

    Args:
        message: Why, and what to do.
        aside: Entries of parameters that are mappings, such as ``splits``, with which the source
            is read without them.
    """

    def __init__(
        self, message: str, *, aside: Mapping[str, Mapping[str, str | None]] | None = None
    ) -> None:
        super().__init__(message)
        self.aside = dict(aside or {})


class SplitNames:
    """What a source's names of splits mean.

    Args:
        own: Names of the source, and what they stand for; None leaves those rows out.
        what: The data set, for messages.

    Raises:
        ConfigError: A name stands for something else than a split.
    """

    def __init__(self, own: Mapping[str, Split | None] | None, *, what: str) -> None:
        self._own = dict(own or {})
        self._what = what
        for name, split in self._own.items():
            if split is not None and split not in SPLITS:
                raise ConfigError(
                    f"{what}: splits: {name} stands for {split!r}; expected train, query, gallery, "
                    "or null to leave it out"
                )

    def knows(self, name: str) -> bool:
        """Return whether a name stands for a split, or is to be left out."""
        return name in self._own or name.casefold() in SPELLINGS

    def what_to_say(self, name: str) -> str:
        """Say that a name is not known, and what to type."""
        return (
            f"what {name!r} stands for is not known; say it: "
            f"{how_to_set('splits', {**self._own, name: 'gallery'})}; or train, query, or null to "
            "leave it out"
        )

    def meanings(self, names: Iterable[str], *, place: str) -> dict[str, Split | None]:
        """Return what each name stands for.

        Args:
            names: Names of the source.
            place: Where they are, for the message.

        Raises:
            SplitsError: One of them is not known.
        """
        listed = sorted(set(names))
        unknown = [name for name in listed if not self.knows(name)]
        if unknown:
            raise SplitsError(
                f"{self._what}: {place} has the splits {', '.join(map(repr, listed))}; "
                f"{self.what_to_say(unknown[0])}",
                aside={"splits": dict.fromkeys(unknown, "train")},
            )
        return {
            name: self._own[name] if name in self._own else SPELLINGS[name.casefold()]
            for name in listed
        }
