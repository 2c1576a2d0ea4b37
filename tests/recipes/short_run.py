"""A few steps of a recipe on synthetic pictures; run as a program it records them anew.

python tests/recipes/short_run.py            # prints what differs
python tests/recipes/short_run.py --record   # writes recorded.json
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from reid_core import DefaultTrainer, StepResult
from reid_core.config import Config, load_config
from reid_core.config.load import config_from_plain
from reid_core.config.recipes import list_recipes
from reid_core.contracts import Batch, ReidModel, TrainOutput

ROOT = Path(__file__).resolve().parents[2]
RECORDED = Path(__file__).with_name("recorded.json")
STEPS = 3

#: Runs in float64 that differ by rounding alone agree to far more digits after three steps; another
#: rule in a loss, a transform, a sampler or a schedule changes the second or third one. Losses and
#: margin classifiers compute in float32.
RELATIVE_TOLERANCE = 1e-3


def recipes() -> dict[str, str]:
    """Return every recipe of this repository: how a config names it, by a short name."""
    shipped = {name: name for name in list_recipes()}
    folder = ROOT / "configs"
    own = {
        path.relative_to(ROOT).with_suffix("").as_posix(): str(path)
        for path in folder.rglob("*.yaml")
    }
    return dict(sorted({**shipped, **own}.items()))


def short_config(name: str, folder: Path) -> Config:
    """Return a recipe with few small pictures, random initial weights and no evaluation."""
    plain: dict[str, Any] = copy.deepcopy(load_config(name).plain())
    data, train = plain["data"], plain["train"]
    data["train"] = [
        {"name": "synthetic", "identities": 12, "test_identities": 2, "cameras": 2, "shots": 2}
    ]
    data.update(test=None, image_size=[96, 48], workers=0)
    batch = data["batch"]
    is_by_size = batch.get("size") is not None
    batch.update({"size": 8} if is_by_size else {"identities": 4, "instances": 2})
    # Reduced precision rounds differently from one processor to the next.
    train.update(precision="fp32", channels_last=False)
    warmup = train["schedule"].get("warmup")
    if warmup and warmup["steps"] is not None:
        warmup["steps"] = 2
    for hook in plain["hooks"]:
        if hook["name"] == "freeze":
            hook.pop("epochs", None)
            hook["steps"] = 1
    backbone = plain["model"]["backbone"] or {}
    for key in ("pretrained", "weights"):
        backbone.pop(key, None)
    plain["evaluate"].update(every=0, at_start=False)
    plain["default_hooks"] = [{"name": "lr_schedule"}]
    plain.update(output=str(folder), device="cpu", seed=0)
    return config_from_plain(plain, (), source=name)


class _Recorder(DefaultTrainer):
    """The default trainer in float64, which keeps the losses of each step.

    Networks from random weights magnify rounding: in float32 two processors part by half a percent
    in three steps.
    """

    def __init__(self, config: Config) -> None:
        self.losses: list[dict[str, float]] = []
        super().__init__(config)

    def build_model(self) -> ReidModel:
        return super().build_model().double()

    def forward(self, batch: Batch) -> TrainOutput:
        return super().forward(batch.with_images(batch.images.double()))

    def run_step(self, batch: Batch) -> StepResult:
        result = super().run_step(batch)
        self.losses.append({name: value.item() for name, value in result.losses.items()})
        return result


def short_run(name: str) -> list[dict[str, float]]:
    """Train a recipe for three steps and return the weighted losses of each."""
    with tempfile.TemporaryDirectory() as folder:
        trainer = _Recorder(short_config(name, Path(folder) / "run"))
        trainer.train(max_iter=STEPS)
    return trainer.losses


def differences(recorded: list[dict[str, float]], found: list[dict[str, float]]) -> Iterator[str]:
    """Yield a line for each loss that is not what was recorded."""
    for step, (then, now) in enumerate(zip(recorded, found, strict=True)):
        if list(then) != list(now):
            yield f"step {step}: losses {list(now)}, recorded {list(then)}"
            continue
        for key, value in then.items():
            if not math.isclose(now[key], value, rel_tol=RELATIVE_TOLERANCE, abs_tol=1e-6):
                yield f"step {step}: {key} is {now[key]:.6g}, recorded {value:.6g}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="write what is found")
    parser.add_argument("names", nargs="*", help="recipes; by default all")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    recorded = json.loads(RECORDED.read_text()) if RECORDED.is_file() else {}
    is_different = False
    for short, name in recipes().items():
        if arguments.names and short not in arguments.names:
            continue
        found = short_run(name)
        lines = list(differences(recorded[short], found)) if short in recorded else ["not recorded"]
        is_different |= bool(lines)
        sys.stdout.write("\n  ".join([short, *lines]) + "\n")
        sys.stdout.flush()
        recorded[short] = found
    if arguments.record:
        known = {key: recorded[key] for key in recipes() if key in recorded}
        rounded = {
            key: [{n: float(f"{v:.8g}") for n, v in step.items()} for step in steps]
            for key, steps in known.items()
        }
        RECORDED.write_text(json.dumps(rounded, indent=1) + "\n")
    return int(is_different and not arguments.record)


if __name__ == "__main__":
    sys.exit(main())
