"""What only a GPU can show: training, losses and evaluation, and that they agree with the CPU.

    python benchmarks/gpu.py
    python benchmarks/gpu.py --only evaluation
    python benchmarks/gpu.py --device cpu --quick    # only shows that it runs

It installs nothing, and leaves out what would take it beyond --minutes. It trains ResNet-50 and
ViT-B/16 on images of 256 x 128, batches of 64 and 256, in float32, TF32, bfloat16, and bfloat16
compiled with channels last: our trainer and a bare loop in turns. It computes each loss of
reid-plugin-losses on the device and on the CPU from the same features. It embeds images in float32
and bfloat16. It evaluates and re-ranks at the sizes of Market-1501 and MSMT17 with the features on
the device and on the CPU. One table with all of it comes last.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import torch
from turns import BareLoop, TakesTurns, build

from reid_core import Batch, HeadOutput
from reid_core.config import load_config
from reid_core.evaluation import (
    Embeddings,
    evaluate_retrieval,
    extract_embeddings,
    market1501,
)
from reid_core.evaluation.rerankers import k_reciprocal
from reid_core.models.build import build_model
from reid_core.plugins.index import installed
from reid_core.plugins.registries import LOSSES

#: Losses that read something else than features and logits.
_OTHERS = frozenset({"attribute_bce"})


#: Settings of the modes of training.
MODES: dict[str, dict[str, object]] = {
    "fp32": {},
    "TF32": {"train.tf32": True},
    "bf16": {"train.precision": "bf16"},
    "bf16 compiled channels_last": {
        "train.precision": "bf16",
        "train.compile": True,
        "train.channels_last": True,
    },
}


@dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Args:
        models: Names of timm.
        batches: Images a batch.
        image: Height and width in pixels.
        steps: Timed steps of a row.
        warm_up: Steps before them.
        compiles: Whether the compiled mode is measured.
        retrieval: Name, queries and gallery entries.
        width: Dimensions of an embedding.
    """

    models: tuple[str, ...]
    batches: tuple[int, ...]
    image: tuple[int, int]
    steps: int
    warm_up: int
    compiles: bool
    retrieval: tuple[tuple[str, int, int], ...]
    width: int


FULL = Sizes(
    models=("resnet50", "vit_base_patch16_224"),
    batches=(64, 256),
    image=(256, 128),
    steps=12,
    warm_up=4,
    compiles=True,
    retrieval=(("Market-1501", 3368, 15913), ("MSMT17", 11659, 82161)),
    width=2048,
)
QUICK = Sizes(
    models=("resnet18", "vit_tiny_patch16_224"),
    batches=(8, 16),
    image=(64, 32),
    steps=2,
    warm_up=1,
    compiles=False,
    retrieval=(("small", 60, 300), ("larger", 100, 600)),
    width=32,
)


@dataclass
class Row:
    """A line of the table: what was measured, and the figures by the name of their column."""

    what: str
    figures: str


class Clock:
    """Says whether there is time for another part.

    Args:
        minutes: Time for all of them.
    """

    def __init__(self, minutes: float) -> None:
        self._end = time.monotonic() + 60 * minutes
        self._started = time.monotonic()

    def has(self, seconds: float) -> bool:
        """Say whether so much is left."""
        return time.monotonic() + seconds < self._end

    def seconds(self) -> float:
        """Return the time since the start."""
        return time.monotonic() - self._started


def training_rows(sizes: Sizes, device: torch.device, clock: Clock) -> Iterator[Row]:
    """Yield ours against a bare loop, by model, batch and mode."""
    for model, batch in product(sizes.models, sizes.batches):
        first = None
        for mode, settings in MODES.items():
            what = f"train {model}, batch {batch}, {mode}"
            # Compiling two copies is what takes time; the larger batch would compile anew.
            is_compiled = bool(settings.get("train.compile"))
            if is_compiled and (batch != sizes.batches[0] or not sizes.compiles):
                continue
            if mode == "TF32" and device.type != "cuda":
                continue  # the same as fp32
            if not clock.has(90 if is_compiled else 30):
                yield Row(what, "left out: no time")
                continue
            hook = _train(model, batch, settings, sizes, device)
            skip = sizes.warm_up
            bare, ours = hook.bare[skip:-1], hook.ours[skip:]
            ratio = statistics.median(o / b for b, o in zip(bare, ours, strict=True))
            seconds = statistics.median(ours)
            first = first or seconds
            peaks = " and ".join(f"{peak / 2**20:.0f}" for peak in hook.peaks)
            yield Row(
                what,
                f"{1e3 * statistics.median(bare):.1f} ms bare, {1e3 * seconds:.1f} ms ours, "
                f"ratio {ratio:.3f}, {batch / seconds:.0f} images/s, {first / seconds:.2f} x fp32, "
                f"peak {peaks} MiB",
            )


def _train(
    model: str, batch: int, settings: dict[str, object], sizes: Sizes, device: torch.device
) -> TakesTurns:
    own: dict[str, object] = {"name": "timm", "model_name": model, "pretrained": False}
    with tempfile.TemporaryDirectory() as folder:
        trainer = build(
            {"model.backbone": own, "device": str(device), "train.log_every": 10, **settings},
            Path(folder),
            batch=batch,
            size=sizes.image,
            steps=sizes.steps + sizes.warm_up + 1,
        )
        hook = TakesTurns(BareLoop(trainer))
        trainer.register_hooks([hook])
        trainer.train()
    return hook


def loss_differences(device: torch.device) -> Iterator[tuple[str, float]]:
    """Yield for each loss the largest relative difference between the device and the CPU."""
    for ref in installed().by_kind("losses"):
        if ref.dist != "reid-plugin-losses" or ref.name in _OTHERS:
            continue
        results = [_loss(ref.name, torch.device("cpu")), _loss(ref.name, device)]
        (value, gradient), (other, other_gradient) = results
        scale = gradient.abs().max().clamp(min=1e-12)
        yield (
            ref.name,
            max(
                ((value - other).abs() / value.abs().clamp(min=1e-12)).item(),
                ((gradient - other_gradient).abs().max() / scale).item(),
            ),
        )


def _loss(name: str, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    features = torch.randn(64, 256)
    logits = 4 * torch.randn(64, 16)
    context = {"num_classes": 16, "feature_dim": 256, "weight": 1.0}
    loss = LOSSES.build({"name": name}, **context).to(device)
    features, logits = (x.to(device).requires_grad_() for x in (features, logits))
    rows = torch.arange(64, device=device)
    batch = Batch(torch.zeros(64, 3, 1, 1, device=device), rows // 4, rows % 2, rows)
    value = loss(HeadOutput(features, {"global": features}, {"global": logits}), batch)
    value.backward()
    gradient = features.grad if features.grad is not None else logits.grad
    assert gradient is not None
    return value.detach().cpu(), gradient.cpu()


def extraction_rates(
    batches: int, size: int, device: torch.device
) -> Iterator[tuple[str, float, float]]:
    """Yield precision, images a second, and the least cosine to the float32 embeddings."""
    config = load_config("osnet/osnet_x0_25", ["model.backbone={name: osnet_x1_0}"])
    torch.manual_seed(0)
    model = build_model(config, num_classes=None).to(device).eval()
    images = torch.randn(size, 3, 256, 128)
    zeros = torch.zeros(size, dtype=torch.int64)
    loaded = [
        Batch(images, zeros, zeros, torch.arange(start * size, (start + 1) * size)).to(device)
        for start in range(batches + 1)
    ]
    exact = None
    for precision in ("fp32", "bf16"):
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            extract_embeddings(model, loaded[:1], device)
            started = time.perf_counter()
            # The embeddings are on the host when it returns, so the device has finished.
            found = extract_embeddings(model, loaded[1:], device, num_images=batches * size)
            seconds = time.perf_counter() - started
        exact = found if exact is None else exact
        cosine = torch.nn.functional.cosine_similarity(found, exact).min().item()
        yield precision, batches * size / seconds, cosine


def retrieval_rows(sizes: Sizes, device: torch.device, clock: Clock) -> Iterator[Row]:
    """Yield seconds of evaluation and re-ranking at each size, on both devices, and differences."""
    for name, queries, gallery in sizes.retrieval:
        query, entries = _sides(queries, gallery, sizes.width)
        for what, rerankers in (("evaluate", []), ("re-rank", [k_reciprocal()])):
            label = f"{what} {name}, {queries} x {gallery} x {sizes.width}"
            seconds, found = [], []
            for place in (device, torch.device("cpu")):
                # On the CPU of a machine with many cores; a guess that is on the safe side.
                if place.type == "cpu" and not clock.has(queries * gallery * sizes.width / 3e10):
                    break
                sides = [
                    replace(side, features=side.features.to(place)) for side in (query, entries)
                ]
                started = time.perf_counter()
                result = evaluate_retrieval(*sides, protocol=market1501(), rerankers=rerankers)
                seconds.append(time.perf_counter() - started)
                found.append(result.ap)
            if len(found) == 1:
                yield Row(label, f"{seconds[0]:.2f} s on {device.type}; CPU left out: no time")
                continue
            difference = float(np.nanmax(np.abs(found[0] - found[1])))
            yield Row(
                label,
                f"{seconds[0]:.2f} s on {device.type}, {seconds[1]:.2f} s on the CPU, largest "
                f"difference of an AP {difference:.1e}",
            )


def _sides(queries: int, gallery: int, width: int) -> list[Embeddings]:
    generator = torch.Generator().manual_seed(0)
    pids = torch.randint(0, max(2, gallery // 25), (queries + gallery,), generator=generator)
    centres = torch.randn(int(pids.max()) + 1, width, generator=generator)
    features = centres[pids] + 2 * torch.randn(len(pids), width, generator=generator)
    camids = torch.arange(len(pids)) % 6
    return [
        Embeddings(features[part], pids[part], camids[part])
        for part in (slice(queries), slice(queries, None))
    ]


def rows(options: argparse.Namespace, device: torch.device) -> Iterator[Row]:
    """Yield everything that is asked for, the quick parts first."""
    sizes, clock = QUICK if options.quick else FULL, Clock(options.minutes)
    if options.only != "evaluation":
        for name, difference in loss_differences(device):
            yield Row(f"loss {name}", f"largest relative difference to the CPU {difference:.1e}")
    if options.only != "training":
        for precision, rate, cosine in extraction_rates(sizes.steps, sizes.batches[0], device):
            yield Row(
                f"embed OSNet x1.0, {precision}",
                f"{rate:.0f} images/s, least cosine to fp32 {cosine:.5f}",
            )
    if options.only != "evaluation":
        yield from training_rows(sizes, device, clock)
    if options.only != "training":
        yield from retrieval_rows(sizes, device, clock)
    yield Row("all of it", f"{clock.seconds():.0f} s")


def main() -> None:
    """Print each line as it comes, and the table of all last."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, or cpu")
    parser.add_argument("--minutes", type=float, default=7.5, help="time for all of it")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--only", choices=("training", "evaluation"), help="leave the rest out")
    options = parser.parse_args()
    device = torch.device(options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        sys.exit("there is no GPU that torch can use; --device cpu --quick only shows that it runs")
    made = []
    for row in rows(options, device):
        made.append(row)
        print(f"{row.what}: {row.figures}", file=sys.stderr, flush=True)
    print(f"torch {torch.__version__}, {_name_of(device)}\n")
    print("| what | figures |\n|---|---|")
    for row in made:
        print(f"| {row.what} | {row.figures} |")


def _name_of(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)


if __name__ == "__main__":
    main()
