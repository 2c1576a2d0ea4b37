"""What only a GPU can show: training, losses and evaluation, and that they agree with the CPU.

    python benchmarks/gpu.py
    python benchmarks/gpu.py --only evaluation
    python benchmarks/gpu.py --device cpu --steps 1 --identities 2    # only shows that it runs

Trains OSNet x1.0 in float32, bfloat16 and float16, contiguous and channels-last, by
the trainer itself, and prints the median time of a step and its ratio to float32, with the peak of
memory. Then computes each loss of reid-plugin-losses on the device and on the CPU from the same
features, and prints the largest relative difference of value and gradient. Last it evaluates:
embeds images in float32 and bfloat16, and measures retrieval with the features on the device and on
the CPU, with the largest difference of a query's average precision.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product

import numpy as np
import torch

from reid_core import Batch, DefaultTrainer, HeadOutput
from reid_core.config import load_config
from reid_core.evaluation import (
    Embeddings,
    evaluate_retrieval,
    extract_embeddings,
    market1501,
)
from reid_core.models.build import build_model
from reid_core.plugins.index import installed
from reid_core.plugins.registries import LOSSES

#: Losses that read something else than features and logits.
_OTHERS = frozenset({"attribute_bce"})


def step_seconds(
    settings: list[str], *, steps: int, identities: int, device: torch.device
) -> tuple[float, float]:
    """Train a few steps and return the median seconds of one, and the peak memory in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        overrides = [
            "model.backbone={name: osnet_x1_0}",
            "data.image_size=[256,128]",
            "data.train={name: synthetic, identities: 64, test_identities: 2, cameras: 2}",
            f"data.batch.identities={identities}",
            "data.workers=0",
            "evaluate={every: 0, at_start: false}",
            f"device={device}",
            f"output={folder}/run",
            *settings,
        ]
        trainer = DefaultTrainer(load_config("osnet/osnet_x0_25", overrides))
        batch = next(iter(trainer.data_loader.epoch(0)))
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        seconds = []
        for _ in range(steps + 3):
            started = time.perf_counter()
            trainer.run_step(batch)
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            seconds.append(time.perf_counter() - started)
        peak = torch.cuda.max_memory_allocated(device) / 2**20 if device.type == "cuda" else 0.0
    return statistics.median(seconds[3:]), peak


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


def retrieval_seconds(size: int, device: torch.device) -> Iterator[tuple[str, float, float]]:
    """Yield distance, seconds of a retrieval of ``size`` queries, and the difference of AP."""
    generator = torch.Generator().manual_seed(0)
    pids = torch.randint(0, max(2, size // 4), (6 * size,), generator=generator)
    centres = torch.randn(int(pids.max()) + 1, 512, generator=generator)
    features = centres[pids] + 1.5 * torch.randn(len(pids), 512, generator=generator)
    camids = torch.arange(len(pids)) % 6
    for distance in ("cosine", "euclidean"):
        found = []
        for place in (torch.device("cpu"), device):
            on_device = features.to(place)
            query = Embeddings(on_device[:size], pids[:size], camids[:size])
            gallery = Embeddings(on_device[size:], pids[size:], camids[size:])
            started = time.perf_counter()
            result = evaluate_retrieval(query, gallery, distance=distance, protocol=market1501())
            found.append((result.ap, time.perf_counter() - started))
        (expected, _), (ap, seconds) = found
        yield distance, seconds, float(np.nanmax(np.abs(ap - expected)))


def _print_training(steps: int, identities: int, device: torch.device) -> None:
    first = None
    sys.stdout.write(
        "| precision | layout | ms a step | ratio | peak MiB |\n|---|---|---|---|---|\n"
    )
    for precision, is_last in product(("fp32", "bf16", "fp16"), (False, True)):
        settings = [f"train.precision={precision}", f"train.channels_last={str(is_last).lower()}"]
        seconds, peak = step_seconds(settings, steps=steps, identities=identities, device=device)
        first = first or seconds
        layout = "channels last" if is_last else "contiguous"
        ratio = first / seconds
        sys.stdout.write(
            f"| {precision} | {layout} | {1e3 * seconds:.1f} | {ratio:.2f} | {peak:.0f} |\n"
        )
        sys.stdout.flush()
    sys.stdout.write("\n| loss | largest relative difference to the CPU |\n|---|---|\n")
    for name, difference in loss_differences(device):
        sys.stdout.write(f"| {name} | {difference:.1e} |\n")


def _print_evaluation(batches: int, identities: int, size: int, device: torch.device) -> None:
    sys.stdout.write("\n| precision | images a second | least cosine to fp32 |\n|---|---|---|\n")
    for precision, rate, cosine in extraction_rates(batches, 4 * identities, device):
        sys.stdout.write(f"| {precision} | {rate:.0f} | {cosine:.5f} |\n")
    sys.stdout.write(
        f"\n| distance | s for {size} queries in {5 * size} | largest difference of AP to the CPU |"
        "\n|---|---|---|\n"
    )
    for name, seconds, difference in retrieval_seconds(size, device):
        sys.stdout.write(f"| {name} | {seconds:.2f} | {difference:.1e} |\n")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, or cpu")
    parser.add_argument("--steps", type=int, default=30, help="timed steps of each row")
    parser.add_argument("--identities", type=int, default=16, help="of a batch, 4 images each")
    parser.add_argument("--only", choices=("training", "evaluation"), help="leave the rest out")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        sys.exit("there is no GPU that torch can use; --device cpu only shows that it runs")
    if arguments.only != "evaluation":
        _print_training(arguments.steps, arguments.identities, device)
    if arguments.only != "training":
        _print_evaluation(arguments.steps, arguments.identities, 100 * arguments.steps, device)


if __name__ == "__main__":
    main()
