"""COCO files: images and annotations, and the keys that say who is on them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from reid_core.data.datasets.how_to_set import how_to_set
from reid_core.data.datasets.missing_places import first_names
from reid_core.errors import DataError, did_you_mean

Entry = Mapping[str, object]

#: Keys of an annotation that say who it is, where the user names none.
_IDENTITY_KEYS = ("identity", "individual_id", "individual", "pid", "track_id", "name")
#: What annotations of COCO hold anyway; shown to nobody who looks for an identity.
_COMMON_KEYS = frozenset(
    {"id", "image_id", "category_id", "bbox", "area", "iscrowd", "segmentation", "keypoints"}
)


@dataclass(frozen=True, eq=False)
class CocoFile:
    """What a COCO file holds.

    Args:
        what: The data set and the file, for messages.
        images: Images by their id.
        annotations: The annotations, in the file's order.
        categories: Names of categories by their id.
    """

    what: str
    images: Mapping[object, Entry]
    annotations: Sequence[Entry]
    categories: Mapping[object, str]

    def identity_key(self, wanted: str | None) -> str:
        """Return the key of annotations that says who it is.

        Args:
            wanted: What the user says; None finds it.

        Raises:
            DataError: There is none, or several.
        """
        present = _keys(self.annotations)
        if not self.annotations:
            raise DataError(
                f"{self.what}: the list annotations is empty; expected one for each individual on "
                "an image, with image_id, bbox and a key that says who it is"
            )
        if wanted is not None:
            if wanted not in present:
                raise DataError(
                    f"{self.what}: no annotation has the key {wanted}"
                    f"{did_you_mean(wanted, present)}; identity is the key that says who it is; "
                    f"their keys are {', '.join(present)}"
                )
            return wanted
        known = [
            key for base in _IDENTITY_KEYS for key in (base, f"attributes.{base}") if key in present
        ]
        if len(known) == 1:
            return known[0]
        found = (
            f"they have several keys that may say so, {', '.join(known)}"
            if known
            else f"they have none of the keys {', '.join(_IDENTITY_KEYS)}, in attributes neither"
        )
        others = [key for key in present if key not in _COMMON_KEYS]
        advice = (
            f"their keys are {', '.join(others)}; say which of them it is: "
            f"{how_to_set('identity', known[0] if known else 'KEY')}"
            if others
            else "they have no keys but COCO's own, so the file says what is on an image and not "
            "who; write a key such as individual_id into each annotation"
        )
        raise DataError(
            f"{self.what}: the annotations do not say plainly who is on the image: {found}; "
            f"{advice}"
        )

    def image_keys(self) -> list[str]:
        """Return the keys of the images, sorted."""
        return _keys(self.images.values())

    def require_key(self, key: str, parameter: str) -> None:
        """Refuse a key that neither images nor annotations have.

        Args:
            key: The key, with a dot for one inside of another.
            parameter: The parameter that names it.

        Raises:
            DataError: It is nowhere.
        """
        keys = [*self.image_keys(), *_keys(self.annotations)]
        if key not in keys:
            raise DataError(
                f"{self.what}: {parameter} is {key}, which no image and no annotation has"
                f"{did_you_mean(key, keys)}; the images have {', '.join(self.image_keys())}"
            )


def read_coco(path: Path, *, what: str) -> CocoFile:
    """Read a COCO file.

    Args:
        path: An existing file.
        what: The data set and the file, for messages.

    Raises:
        DataError: It is not JSON, or not of COCO's form.
    """
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"{what} cannot be opened: {error.strerror}") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{what} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise DataError(
            f"{what} holds a {type(content).__name__}; expected {{images, annotations}}"
        )
    images = _entries(content, "images", ("id", "file_name"), what)
    annotations = _entries(content, "annotations", ("image_id",), what)
    if not images and annotations:
        raise DataError(f"{what}: the list images is empty; expected the image of each annotation")
    categories = (
        _entries(content, "categories", ("id", "name"), what) if (content.get("categories")) else []
    )
    by_id: dict[object, Entry] = {image["id"]: image for image in images}
    if len(by_id) < len(images):
        raise DataError(f"{what}: two images have one id; expected an id of its own for each")
    return CocoFile(what, by_id, annotations, {c["id"]: str(c["name"]) for c in categories})


def value_of(entry: Entry, key: str) -> object:
    """Return the value of a key, with a dot for one inside of another; None where it is not."""
    value: object = entry
    for part in key.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value


def _entries(content: Entry, name: str, required: tuple[str, ...], what: str) -> Sequence[Entry]:
    found = content.get(name)
    if not _is_entries(found):
        raise DataError(
            f"{what}: there is no list {name!r}; expected a COCO file, with images and "
            f"annotations; it holds {first_names(map(str, content))}"
        )
    for number, entry in enumerate(found):
        missing = [key for key in required if key not in entry]
        if missing:
            raise DataError(
                f"{what}: {name}[{number}] has no {missing[0]}; its keys are "
                f"{', '.join(map(str, entry)) or 'none'}"
            )
    return found


def _is_entries(value: object) -> TypeGuard[list[Entry]]:
    return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)


def _keys(entries: Iterable[Entry]) -> list[str]:
    keys: set[str] = set()
    for entry in entries:
        keys.update(map(str, entry))
        inner = entry.get("attributes")
        if isinstance(inner, dict):
            keys.update(f"attributes.{key}" for key in inner)
    return sorted(keys)
