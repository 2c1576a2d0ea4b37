"""Which images a contact sheet shows, and how each is labelled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from PIL import Image

from reid_core.data.image_reader import BrokenImageError
from reid_core.data.image_rows import ImageRows
from reid_core.data.manifest import Manifest
from reid_core.data.splitting.order import draw_key, row_texts, shuffled
from reid_core.progress import track
from reid_core.wording import counted


@dataclass(frozen=True)
class SheetImage:
    """One picture of a sheet.

    Args:
        picture: The image, RGB; None where it cannot be read.
        camera: Its camera's name; empty where cameras are not known.
        split: Its split.
        path: Its path in the data set.
        problem: Why it cannot be read; empty where it can.
    """

    picture: Image.Image | None
    camera: str
    split: str
    path: str
    problem: str = ""

    @property
    def label(self) -> str:
        """Camera and split in a few letters."""
        return f"camera {self.camera} · {self.split}" if self.camera else self.split


@dataclass(frozen=True)
class SheetRow:
    """The pictures of one identity.

    Args:
        pid: Its name.
        num_images: How many images it has.
        num_cameras: How many cameras saw it; None where cameras are not known.
        images: Those that are shown, by camera.
    """

    pid: str
    num_images: int
    num_cameras: int | None
    images: tuple[SheetImage, ...]

    @property
    def label(self) -> str:
        """Counts in words."""
        cameras = "" if self.num_cameras is None else f", {counted(self.num_cameras, 'camera')}"
        return f"{counted(self.num_images, 'image')}{cameras}"


def sheet_rows(
    manifest: Manifest, *, identities: int, images: int, size: tuple[int, int], seed: int = 0
) -> tuple[SheetRow, ...]:
    """Draw identities and images of them, and read these.

    Args:
        manifest: The rows to choose from.
        identities: Most identities, at least 1.
        images: Most images of each, at least 1; its cameras take turns.
        size: Width and height in pixels that each picture must fit into.
        seed: Another seed chooses others.

    Returns:
        The identities in sorted order.
    """
    by_pid: dict[str, list[int]] = defaultdict(list)
    names = manifest.pids.tolist()
    for row, pid in enumerate(names):
        by_pid[str(pid)].append(row)
    drawn = set(shuffled(by_pid, seed, "identity")[:identities])
    ordered = [str(pid) for pid in manifest.identities.tolist() if str(pid) in drawn]
    shown = {pid: _shown(manifest, by_pid[pid], images, seed) for pid in ordered}
    wanted = [row for rows in shown.values() for row in rows]
    chosen = manifest.take(np.array(wanted, dtype=np.intp))
    pictures = iter(_pictures(chosen, size))
    return tuple(
        SheetRow(
            pid=pid,
            num_images=len(by_pid[pid]),
            num_cameras=len({*manifest.camids[by_pid[pid]].tolist()})
            if manifest.has_cameras
            else None,
            images=tuple(next(pictures) for _ in rows),
        )
        for pid, rows in shown.items()
    )


def _shown(manifest: Manifest, rows: list[int], images: int, seed: int) -> list[int]:
    part = manifest.take(np.array(rows, dtype=np.intp))
    keys = [draw_key(seed, "image", text) for text in row_texts(part)]
    cameras = part.camids.tolist()
    seen: dict[object, int] = defaultdict(int)
    turns = []
    for place in sorted(range(len(rows)), key=keys.__getitem__):
        turns.append((seen[cameras[place]], place))
        seen[cameras[place]] += 1
    drawn = [place for _, place in sorted(turns, key=lambda turn: turn[0])][:images]
    paths = part.paths.tolist()
    return [rows[place] for place in sorted(drawn, key=lambda one: (cameras[one], paths[one]))]


def _pictures(manifest: Manifest, size: tuple[int, int]) -> Iterator[SheetImage]:
    rows = ImageRows([manifest])
    for row in track(range(len(rows)), total=len(rows), description="reading images"):
        camera = str(manifest.camids[row]) if manifest.has_cameras else ""
        split, path = str(manifest.splits[row]), str(manifest.paths[row])
        try:
            pixels = rows.read(row).permute(1, 2, 0).contiguous().numpy()
        except BrokenImageError as error:
            yield SheetImage(None, camera, split, path, str(error))
            continue
        picture = Image.fromarray(pixels)
        picture.thumbnail(size)
        yield SheetImage(picture, camera, split, path)
