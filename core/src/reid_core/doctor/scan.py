"""All images of some sets, read once, a few at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from reid_core.data.image_reader import BrokenImageError, decode_image
from reid_core.data.image_rows import ImageRows, crop
from reid_core.data.manifest import Manifest
from reid_core.data.stores import ImageStore
from reid_core.doctor.boxes import part_inside
from reid_core.doctor.image_facts import FACTS, Header, describe_pixels, digest, read_header
from reid_core.doctor.thumbnails import THUMBNAIL, Thumbnails
from reid_core.progress import track

T = TypeVar("T")
R = TypeVar("R")

#: Threads that read and decode; the decoders let other threads run.
THREADS = 4
#: Rows that a thread takes at a time, and the parts that wait for it.
_ROWS_AT_ONCE = 64
_PARTS_AHEAD = 4 * THREADS


@dataclass(frozen=True)
class Fault:
    """Why an image cannot be read.

    Args:
        message: The error in words.
        name: Where the image is, as the message calls it.
        is_missing: Whether there is no such file.
    """

    message: str
    name: str
    is_missing: bool = False

    @property
    def reason(self) -> str:
        """The message without the name."""
        text = self.message.removeprefix(f"image {self.name}")
        return text.removeprefix(" is ").removeprefix("broken: ").lstrip(" ,:")


@dataclass(frozen=True, eq=False)
class Scan:
    """What the images of some sets are.

    Args:
        manifests: The sets.
        facts: (N,) of :data:`FACTS`, one set after the other.
        faults: What is wrong with an image that cannot be read, by row.
        thumbnails: Small versions of the images, to look for near copies in; None without.
    """

    manifests: tuple[Manifest, ...]
    facts: NDArray[np.void]
    faults: dict[int, Fault]
    thumbnails: Thumbnails | None = None

    def sets(self) -> Iterator[tuple[Manifest, int]]:
        """Yield each set with the row it begins at."""
        start = 0
        for manifest in self.manifests:
            yield manifest, start
            start += len(manifest)


def scan_images(manifests: Sequence[Manifest], *, keeps_thumbnails: bool = True) -> Scan:
    """Read every image of some sets, and note what it is.

    Memory grows by about 100 bytes a row; pixels are let go of at once. Small versions take 3,840
    bytes a row of a temporary file.

    Args:
        manifests: The sets.
        keeps_thumbnails: Whether small versions are kept.

    Raises:
        DataError: The temporary folder has no room for them.
    """
    if not keeps_thumbnails:
        return Scan(tuple(manifests), *_read_all(manifests, None))
    with Thumbnails(sum(len(manifest) for manifest in manifests)) as thumbnails:
        facts, faults = _read_all(manifests, thumbnails)
    return Scan(tuple(manifests), facts, faults, thumbnails)


def _read_all(
    manifests: Sequence[Manifest], thumbnails: Thumbnails | None
) -> tuple[NDArray[np.void], dict[int, Fault]]:
    facts = np.concatenate([np.empty(0, FACTS), *(np.zeros(len(m), FACTS) for m in manifests)])
    faults: dict[int, Fault] = {}
    start = 0
    for manifest in manifests:
        rows = ImageRows([manifest])
        # Boxes of one photograph come together, so that it is read once.
        order = np.argsort(manifest.paths, kind="stable")
        parts = [order[i : i + _ROWS_AT_ONCE] for i in range(0, len(order), _ROWS_AT_ONCE)]

        results = track(
            streamed(
                partial(_read, rows=rows, manifest=manifest, is_kept=thumbnails is not None), parts
            ),
            total=len(parts),
            description=f"reading images of {manifest.name}",
        )
        for part, (found, broken, small) in zip(parts, results, strict=True):
            facts[part + start] = found
            faults.update({row + start: fault for row, fault in broken.items()})
            if thumbnails is not None:
                thumbnails.write(part + start, small)
        start += len(manifest)
    return facts, dict(sorted(faults.items()))


def streamed(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Apply a function in threads; yield in order, with a bounded number of results in memory."""
    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) >= _PARTS_AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


_Part = tuple[NDArray[np.void], dict[int, Fault], NDArray[np.void]]


def _read(part: NDArray[np.intp], rows: ImageRows, manifest: Manifest, *, is_kept: bool) -> _Part:
    facts = np.zeros(len(part), FACTS)
    thumbnails = np.zeros(len(part) if is_kept else 0, THUMBNAIL)
    faults: dict[int, Fault] = {}
    file: _File | None = None
    for place, row in enumerate(part.tolist()):
        path = str(manifest.paths[row])
        if file is None or file.path != path:
            file = _open(manifest.images, path)
        if file.image is None:
            faults[row] = file.fault
            continue
        box = rows.box(row)
        try:
            image = file.image if box is None else crop(file.image, box)
        except ValueError as error:
            name = rows.locate(row)
            faults[row] = Fault(f"image {name}, row {row}: {error}", name)
            continue
        facts[place]["file_digest"] = file.digest
        facts[place]["inside"] = 1.0 if box is None else part_inside(box, file.image)
        for name, value in zip(Header._fields, file.header, strict=True):
            facts[place][name] = value
        describe_pixels(facts[place], image, thumbnails[place] if is_kept else None)
    return facts, faults, thumbnails


_NO_HEADER = Header(0, 0, 1, is_cut=False)
_NO_FAULT = Fault("", "")


@dataclass(frozen=True, eq=False)
class _File:
    """A file that was read, for the rows that show parts of it."""

    path: str
    image: Tensor | None = None
    header: Header = _NO_HEADER
    digest: int = 0
    fault: Fault = _NO_FAULT


def _open(store: ImageStore, path: str) -> _File:
    name = store.locate(path)
    try:
        data = store.read(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        message = f"image {name} cannot be opened: {reason}"
        is_missing = isinstance(error, FileNotFoundError)
        return _File(path, fault=Fault(message, name, is_missing=is_missing))
    try:
        return _File(path, decode_image(data, name), read_header(data), digest(data))
    except BrokenImageError as error:
        return _File(path, fault=Fault(str(error), name))
