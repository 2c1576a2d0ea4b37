"""Which pictures a data set has: file names in the layout of Market-1501, and who is in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reid_core.data.datasets.synthetic.people import Person, crowd, stranger
from reid_core.data.datasets.synthetic.settings import Settings
from reid_core.data.datasets.synthetic.streams import Purpose, Stream
from reid_core.data.manifest import Split

#: Folders as Market-1501 names them.
FOLDERS: dict[Split, str] = {
    "train": "bounding_box_train",
    "query": "query",
    "gallery": "bounding_box_test",
}

#: Identity of people who are nobody's match.
DISTRACTOR = 0


@dataclass(frozen=True)
class Picture:
    """One picture to draw.

    Args:
        path: Where it goes, relative to the data set's folder.
        pid: Identity.
        camid: Camera, from 1.
        split: Where it belongs.
        person: Who is in it; None for an empty place.
        key: Key of the random stream that draws it.
    """

    path: str
    pid: int
    camid: int
    split: Split
    person: Person | None
    key: tuple[int, ...]


def plan(settings: Settings) -> list[Picture]:
    """Return every picture of the data set, sorted by path.

    The people of one split, and each picture of theirs, do not depend on how many people the
    other has: a larger training set is tested on the same pictures.
    """
    pictures = [*_people(settings, "train"), *_people(settings, "gallery"), *_distractors(settings)]
    return sorted(pictures, key=lambda picture: picture.path)


def _people(settings: Settings, split: Split) -> Iterator[Picture]:
    """Yield the pictures of the people to train on, or of those to test on."""
    training = split == "train"
    count = settings.identities if training else settings.test_identities
    first = 1 if training else settings.identities + 1
    stream = Stream(settings.seed, Purpose.PEOPLE, training)
    people = crowd(stream, count, settings.profile.lookalike_percent)
    for index, person in enumerate(people):
        for camera in range(settings.cameras):
            for shot in range(settings.shots):
                key = settings.seed, Purpose.PICTURE, training, index, camera, shot
                part: Split = "query" if not training and shot == 0 else split
                yield _picture(part, first + index, camera, shot, person, key)


def _distractors(settings: Settings) -> Iterator[Picture]:
    """Yield one picture for every two people of the test: mostly strangers, some empty places."""
    for index in range((settings.test_identities + 1) // 2):
        stream = Stream(settings.seed, Purpose.DISTRACTOR, index)
        person = None if index % 5 == 4 else stranger(stream)
        key = settings.seed, Purpose.DISTRACTOR, index, 1
        camera, shot = index % settings.cameras, index // settings.cameras
        yield _picture("gallery", DISTRACTOR, camera, shot, person, key)


def _picture(
    split: Split, pid: int, camera: int, shot: int, person: Person | None, key: tuple[int, ...]
) -> Picture:
    name = f"{pid:04d}_c{camera + 1}s1_{shot + 1:06d}_00.png"
    return Picture(f"{FOLDERS[split]}/{name}", pid, camera + 1, split, person, key)
