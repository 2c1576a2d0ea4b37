"""What only a GPU can show: a step in each precision, and losses that agree with the CPU.

    python benchmarks/gpu.py
    python benchmarks/gpu.py --device cpu --steps 1 --identities 2    # only shows that it runs

Trains OSNet x1.0 in float32, bfloat16 and float16, contiguous and channels-last, by
the trainer itself, and prints the median time of a step and its ratio to float32, with the peak of
memory. Then computes each loss of reid-plugin-losses on the device and on the CPU from the same
features, and prints the largest relative difference of value and gradient.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product

import torch

from reid_core import Batch, DefaultTrainer, HeadOutput
from reid_core.config import load_config
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


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, or cpu")
    parser.add_argument("--steps", type=int, default=30, help="timed steps of each row")
    parser.add_argument("--identities", type=int, default=16, help="of a batch, 4 images each")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        sys.exit("there is no GPU that torch can use; --device cpu only shows that it runs")
    first = None
    sys.stdout.write(
        "| precision | layout | ms a step | ratio | peak MiB |\n|---|---|---|---|---|\n"
    )
    for precision, is_last in product(("fp32", "bf16", "fp16"), (False, True)):
        settings = [f"train.precision={precision}", f"train.channels_last={str(is_last).lower()}"]
        seconds, peak = step_seconds(
            settings, steps=arguments.steps, identities=arguments.identities, device=device
        )
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


if __name__ == "__main__":
    main()
