"""Jobs of several processes: what is trained, how it is started, what it left."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).parent

RECIPE = """
model:
  backbone: {{name: tiny_backbone}}
  head: {{name: tiny_head}}
  losses: [{{name: tiny_loss}}]
data:
  train: [{{name: market1501, root: '{root}'}}]
  image_size: [32, 16]
  batch: {{sampler: identity, identities: 4, instances: 2}}
  workers: 0
device: cpu
train:
  epochs: 2
  optimizer: {{name: adam, lr: 0.01}}
  schedule: {{name: constant}}
  log_every: 2
evaluate: {{every: 1}}
hooks: [faulty]
default_hooks: [lr_schedule, checkpoint, evaluation, metric_log]
"""


@dataclass(frozen=True)
class Job:
    """One command that several processes run.

    Args:
        name: Its name, and that of its run folder.
        arguments: Of ``reid-train``, behind recipe and local code.
        count: Processes.
        fault: What goes wrong; see ``faulty_parts.py``.
        environment: Further variables.
        launcher: Whether the store is kept beside the processes, as torchrun does.
    """

    name: str
    arguments: tuple[str, ...] = ()
    count: int = 2
    fault: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    launcher: bool = True


@dataclass(frozen=True)
class Ended:
    """What a job left.

    Args:
        folder: Its run folder.
        codes: Exit code of each process.
        texts: What each printed.
    """

    folder: Path
    codes: list[int]
    texts: list[str]

    @property
    def status(self):
        return json.loads((self.folder / "status.json").read_text())

    def state(self, step=12):
        return torch.load(self.folder / "checkpoints" / f"step_{step:08d}.pt", weights_only=True)


def arguments_of(folder, market, *arguments):
    """Return arguments of reid-train; the recipe is written into ``folder``."""
    recipe = folder / "tiny.yaml"
    recipe.write_text(RECIPE.format(root=market.as_posix()), encoding="utf-8")
    parts = HERE / "faulty_parts.py"
    return ["--config", str(recipe), "--plugin-file", str(parts), *arguments]


def run_jobs(folder, market, jobs):
    """Run jobs one after the other; return what each left, by name."""
    plain = [
        {
            "name": job.name,
            "count": job.count,
            "launcher": job.launcher,
            "environment": {"FAULT": job.fault, **job.environment},
            "arguments": arguments_of(
                folder, market, "--output", str(folder / job.name), *job.arguments
            ),
        }
        for job in jobs
    ]
    (folder / "jobs.json").write_text(json.dumps(plain))
    started = subprocess.run(
        [sys.executable, str(HERE / "launch_ranks.py"), str(folder / "jobs.json")],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert started.returncode == 0, started.stderr[-3000:]
    codes = json.loads((folder / "exit_codes.json").read_text())
    return {
        job.name: Ended(
            folder / job.name,
            codes[job.name],
            [(folder / f"{job.name}.{rank}.txt").read_text() for rank in range(job.count)],
        )
        for job in jobs
    }


def largest_difference(one, other):
    """Return the largest difference between the weights of two checkpoints."""
    assert list(one["model"]) == list(other["model"])
    pairs = [(one["model"][key], other["model"][key]) for key in one["model"]]
    return max(float((a - b).abs().max()) for a, b in pairs)


SHARED = ("--set", "train.distributed.strategy=fsdp", "--set", "train.channels_last=true")
CLIPPED = ("--set", "train.clip_gradients={method: norm, limit: 0.5}")


@pytest.fixture(scope="session")
def ended(tmp_path_factory, tiny_market):
    """What each job left, by name; all are run by one start of Python."""
    folder = tmp_path_factory.mktemp("jobs")
    halfway = str(folder / "halfway" / "checkpoints" / "step_00000008.pt")
    go_on = ("--resume", halfway, "--changes", "use", *CLIPPED)
    jobs = [
        Job("undisturbed", fault="slow"),
        Job("raise", fault="raise", launcher=False),
        Job("stuck", fault="stuck"),
        Job("terminate", fault="terminate"),
        Job("wrong", arguments=("--set", "train.epochs=no")),
        Job("ddp", CLIPPED),
        Job("fsdp", (*SHARED, *CLIPPED)),
        Job("halfway", (*SHARED, *CLIPPED), fault="terminate"),
        Job("again", (*go_on, *SHARED)),
        Job("as_ddp", go_on),
    ]
    return run_jobs(folder, tiny_market, jobs)


@pytest.fixture(scope="session")
def command_line():
    """Return the function that makes arguments of reid-train."""
    return arguments_of


@pytest.fixture(scope="session")
def furthest_apart():
    """Return the function that compares two checkpoints."""
    return largest_difference
