"""A training step of ours against a bare PyTorch loop, in each precision and memory layout.

Both train copies of one model on the same batch, which lies in memory, and take turns step by step,
so that whatever else the machine does hits both. Beside it: steps with a row of the log and without
one, peak memory of each in a process of its own, and the time from a command to its first step.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from turns import BareLoop, TakesTurns, Trainer, build

#: Settings of ``train`` by the name of the mode: precision, and whether channels are last.
MODES = {
    "fp32": ("fp32", False),
    "fp32 channels_last": ("fp32", True),
    "bf16": ("bf16", False),
    "bf16 channels_last": ("bf16", True),
}


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backbone", default="resnet50", help="a model of timm")
    parser.add_argument("--batch", type=int, default=32, help="images a batch, a multiple of 4")
    parser.add_argument("--size", type=int, nargs=2, default=(256, 128), help="height and width")
    parser.add_argument("--steps", type=int, default=12, help="steps of each that are counted")
    parser.add_argument("--starts", type=int, default=3, help="starts of a command")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--alone", choices=["bare", "ours", "start"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone == "start":
        print(first_step(options))
    elif options.alone:
        print(peak_memory(options))
    else:
        report(options)


def report(options: argparse.Namespace) -> None:
    """Print all tables."""
    threads = torch.get_num_threads()
    sizes = f"batch {options.batch} of {options.size}, {threads} threads"
    print(f"{options.backbone}, {sizes}, {options.steps} steps of each")
    print(
        f"{'':20}{'bare ms':>10}{'ours ms':>10}{'ratio':>8}{'fp32/this':>11}"
        f"{'with a row of the log':>23}{'bare MiB':>10}{'ours MiB':>10}"
    )
    first = 0.0
    for mode in options.modes:
        with tempfile.TemporaryDirectory() as folder:
            hook = measure(options, mode, Path(folder))
        bare, ours = hook.bare[1:-1], hook.ours[1:]
        ratio = statistics.median(o / b for b, o in zip(bare, ours, strict=True))
        median = statistics.median(ours)
        first = first or median
        # Rows are written after every second step, by the counting from 0 the odd ones.
        told = statistics.median(
            (ours[i] / bare[i]) / (ours[i + 1] / bare[i + 1]) for i in range(0, len(ours) - 1, 2)
        )
        memory = [alone(options, mode, who) for who in ("bare", "ours")]
        print(
            f"{mode:20}{1000 * statistics.median(bare):10.1f}{1000 * median:10.1f}{ratio:8.3f}"
            f"{first / median:11.2f}{told:23.3f}{memory[0]:10.0f}{memory[1]:10.0f}"
        )
    seconds = [alone(options, options.modes[0], "start") for _ in range(options.starts)]
    print(
        f"from a command to the end of its first step: {statistics.median(seconds):.1f} s "
        f"(median of {options.starts}; Python, imports, data, model and the step itself)"
    )


def alone(options: argparse.Namespace, mode: str, who: str) -> float:
    """Run this script for one number, in a process of its own."""
    command = [sys.executable, __file__, "--alone", who, "--modes", mode]
    command += ["--backbone", options.backbone, "--batch", str(options.batch)]
    command += ["--size", *map(str, options.size)]
    started = time.time()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    number = float(done.stdout.splitlines()[-1])
    return number - started if who == "start" else number


def peak_memory(options: argparse.Namespace) -> float:
    """Do two steps and return the most memory that the process had, in MiB."""
    mode = options.modes[0]
    with tempfile.TemporaryDirectory() as folder:
        trainer = trainer_of(options, mode, Path(folder), steps=2)
        if options.alone == "ours":
            trainer.train()
        else:
            bare = BareLoop(trainer)
            trainer.model.to("meta")
            bare.step()
            bare.step()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def first_step(options: argparse.Namespace) -> float:
    """Do one step and return the time of day, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        trainer_of(options, options.modes[0], Path(folder), steps=1).train()
    return time.time()


def measure(options: argparse.Namespace, mode: str, folder: Path) -> TakesTurns:
    """Train both and return the times."""
    # The first pair is warm-up; of the last bare step nothing of ours follows.
    trainer = trainer_of(options, mode, folder, steps=options.steps + 2)
    hook = TakesTurns(BareLoop(trainer))
    trainer.register_hooks([hook])
    trainer.train()
    return hook


def trainer_of(options: argparse.Namespace, mode: str, folder: Path, *, steps: int) -> Trainer:
    """Build the trainer of a mode."""
    precision, is_last = MODES[mode]
    settings = {
        "model.backbone": {"name": "timm", "model_name": options.backbone, "pretrained": False},
        "train.precision": precision,
        "train.channels_last": is_last,
        "device": "cpu",
    }
    size = (options.size[0], options.size[1])
    return build(settings, folder, batch=options.batch, size=size, steps=steps)


if __name__ == "__main__":
    main()
