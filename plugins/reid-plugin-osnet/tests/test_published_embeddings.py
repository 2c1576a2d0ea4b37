"""Released MSMT17 weights on real images, against stored embeddings and their retrieval scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torchvision.transforms.v2 import functional as tvf

from reid_plugin_osnet.osnet import osnet_x0_25

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
WEIGHTS = DATA / "weights" / "osnet_x0_25_msmt17_torchreid.pth"
FIXTURE = DATA / "fixtures" / "lpc_reid_osnet_x0_25_msmt17.npz"
EXPECTED = FIXTURE.with_suffix(".expected.json")
MEAN = torch.tensor([0.485, 0.456, 0.406])[:, None, None]
STD = torch.tensor([0.229, 0.224, 0.225])[:, None, None]

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no reference data at {DATA}")


@dataclass(frozen=True)
class Scores:
    """Rank-1, -5 and -10 rates, mean average precision and mean inverse negative penalty."""

    cmc: tuple[float, ...]
    mean_ap: float
    mean_inp: float


def resized_by_pillow(path: Path) -> Tensor:
    image = Image.open(path).convert("RGB").resize((128, 256), Image.Resampling.BILINEAR)
    return torch.from_numpy(np.array(image)).permute(2, 0, 1)


def resized_by_torchvision(path: Path) -> Tensor:
    pixels = torch.from_numpy(np.array(Image.open(path).convert("RGB"))).permute(2, 0, 1)
    return tvf.resize(pixels, [256, 128], antialias=True)


def embed(folder: Path, names: list[str], read: Callable[[Path], Tensor]) -> NDArray[np.float64]:
    """Return (N, 512) unit vectors of the named files."""
    # Channels last, because depthwise convolutions on a CPU are twice as fast that way.
    layout = torch.channels_last
    model = osnet_x0_25(weights=str(WEIGHTS)).eval().to(memory_format=layout)
    rows: list[Tensor] = []
    with torch.inference_mode():
        for start in range(0, len(names), 16):
            images = torch.stack([read(folder / name) for name in names[start : start + 16]])
            normalised = (images.float() / 255 - MEAN) / STD
            rows.append(model(normalised.contiguous(memory_format=layout)).flatten(1))
    return torch.nn.functional.normalize(torch.cat(rows).double()).numpy()


def unit(stored: NDArray[np.float16]) -> NDArray[np.float64]:
    """Return the stored rows at length 1; rounding to float16 has changed it."""
    rows = stored.astype(np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def evaluate_by_loops(
    query: NDArray[np.float64], gallery: NDArray[np.float64], ids: np.lib.npyio.NpzFile
) -> Scores:
    """Score retrieval one query at a time, leaving out its own identity in its own camera."""
    hits_at, average_precisions, penalties = [], [], []
    for row, feature in enumerate(query):
        order = np.argsort(1 - gallery @ feature, kind="stable")
        same_pid = ids["g_pids"][order] == ids["q_pids"][row]
        same_cam = ids["g_camids"][order] == ids["q_camids"][row]
        ranks = np.flatnonzero(same_pid[~(same_pid & same_cam)]) + 1
        hits_at.append([ranks[0] <= k for k in (1, 5, 10)])
        average_precisions.append(np.mean([(i + 1) / rank for i, rank in enumerate(ranks)]))
        penalties.append(len(ranks) / ranks[-1])
    return Scores(
        cmc=tuple(np.mean(hits_at, axis=0).tolist()),
        mean_ap=float(np.mean(average_precisions)),
        mean_inp=float(np.mean(penalties)),
    )


@pytest.fixture(scope="module")
def ids() -> np.lib.npyio.NpzFile:
    return np.load(FIXTURE)


@pytest.fixture(scope="module")
def embeddings(ids: np.lib.npyio.NpzFile) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return (
        embed(DATA / "lpc_reid" / "query", ids["q_names"].tolist(), resized_by_pillow),
        embed(DATA / "lpc_reid" / "bounding_box_test", ids["g_names"].tolist(), resized_by_pillow),
    )


def test_every_image_has_its_stored_embedding(ids, embeddings):
    for computed, stored in zip(embeddings, (ids["qf"], ids["gf"]), strict=True):
        assert float((computed * unit(stored)).sum(axis=1).min()) > 0.99999


def test_the_retrieval_scores_are_those_of_two_toolboxes(ids, embeddings):
    expected = json.loads(EXPECTED.read_text())
    scores = evaluate_by_loops(*embeddings, ids)
    assert scores.cmc == pytest.approx(expected["torchreid"]["cmc_1_5_10"], abs=1e-6)
    # The expected values come from embeddings rounded to float16, which swaps a few neighbours.
    assert scores.mean_ap == pytest.approx(expected["torchreid"]["mAP"], abs=1e-4)
    assert scores.mean_inp == pytest.approx(expected["fastreid"]["mINP"], abs=1e-4)


def test_the_loops_score_the_stored_embeddings_exactly_as_the_toolboxes_do(ids):
    expected = json.loads(EXPECTED.read_text())
    scores = evaluate_by_loops(ids["qf"].astype(np.float64), ids["gf"].astype(np.float64), ids)
    assert scores.cmc == pytest.approx(expected["torchreid"]["cmc_1_5_10"], abs=1e-7)
    assert scores.mean_ap == pytest.approx(expected["torchreid"]["mAP"], abs=1e-12)
    assert scores.mean_inp == pytest.approx(expected["fastreid"]["mINP"], abs=1e-12)


def test_resizing_as_the_loader_does_gives_the_same_embedding(ids):
    names = ids["q_names"].tolist()[::4]
    computed = embed(DATA / "lpc_reid" / "query", names, resized_by_torchvision)
    assert float((computed * unit(ids["qf"][::4])).sum(axis=1).min()) > 0.99999
