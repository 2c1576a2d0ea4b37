"""Small image folders on disk, their manifests, and data sets registered for one test."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from reid_core.data.manifest import Manifest
from reid_core.plugins.registries import DATASETS

SHARED = Path(__file__).resolve().parents[4] / "shared"


def noise(seed: int, height: int = 20, width: int = 12) -> Image.Image:
    """An image of random pixels, different for each seed."""
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def write_images(folder: Path, pids: list[int], *, suffix: str = ".png") -> Manifest:
    """Write an image for each identity of ``pids``; cameras take turns."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"{row:03d}{suffix}" for row in range(len(pids))]
    for row, name in enumerate(names):
        noise(row).save(folder / name)
    return Manifest(
        name="images",
        root=folder,
        paths=np.array(names),
        pids=np.array(pids),
        camids=np.arange(len(pids)) % 3,
        splits=np.array(["train"] * len(pids)),
    )


@pytest.fixture
def make_images(tmp_path: Path) -> Callable[..., Manifest]:
    """``make_images([0, 0, 1, 1])`` writes four images of two identities."""
    return lambda pids, **keywords: write_images(tmp_path / "images", pids, **keywords)


@pytest.fixture(scope="session")
def eight_by_four(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    """Eight identities of four images; not to be changed."""
    pids = [pid for pid in range(8) for _ in range(4)]
    return write_images(tmp_path_factory.mktemp("eight_by_four"), pids)


@pytest.fixture
def local_dataset() -> Iterator[Callable[[str, Callable[..., object]], None]]:
    """``local_dataset(name, factory)`` registers a data set until the test ends."""
    names: list[str] = []

    def register(name: str, factory: Callable[..., object]) -> None:
        DATASETS.register(factory, name=name)
        names.append(name)

    yield register
    for name in names:
        DATASETS._local.pop(name)


@pytest.fixture
def global_random_state() -> Callable[[], tuple[object, ...]]:
    """The state of every global generator, to be compared before and after."""

    def state() -> tuple[object, ...]:
        _, keys, *rest = np.random.get_state()
        return random.getstate(), keys.tolist(), rest, torch.get_rng_state().tolist()

    return state


@pytest.fixture
def shared_data() -> Path:
    """The folder of real data sets."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip(f"real data sets are not at {folder}")
    return folder
