"""What each of two processes of a test trains; started by torchrun, the first leaves a report.

    torchrun --nproc-per-node 2 training_script.py FOLDER

Each run is done by both, and then by the first process alone, in FOLDER.
"""

import json
import logging
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from reid_core.config.schema import DEFAULT_HOOKS
from reid_core.contracts import HeadOutput
from reid_core.distributed.join import joined_processes
from reid_core.distributed.processes import ALONE
from reid_core.distributed.tensors import average_gradients, gathered
from reid_core.engine import DefaultTrainer, Interrupted
from reid_core.errors import ReidError
from reid_core.hookspecs import hookimpl
from reid_core.models import Baseline, WeightedLoss
from reid_core.testing.tiny_run import TinyRun

EPOCHS = 5
#: Steps of a run: 5 epochs of 4.
STEPS = 20

AUGMENTED = [
    {"name": "reid-core/random_flip"},
    {"name": "reid-core/random_erasing"},
    {"name": "reid-core/random_patch"},
]


class Backbone(nn.Module):
    feature_dim = 8
    num_prefix_tokens = None

    def __init__(self, norm):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 5, stride=4)
        self.norm = nn.BatchNorm2d(8) if norm else nn.Identity()

    def forward(self, images):
        return self.norm(self.conv(images)).tanh()


class Head(nn.Module):
    def __init__(self, num_classes, dropout, with_unused):
        super().__init__()
        self.embedding_dim = 8
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(8, num_classes)
        self.unused = nn.Linear(8, 8) if with_unused else None

    def forward(self, features, pids=None):
        pooled = features.mean(dim=(2, 3))
        logits = {"global": self.classifier(self.dropout(pooled))} if self.training else {}
        return HeadOutput(embedding=pooled, features={"global": pooled}, logits=logits)


class CrossEntropy(nn.Module):
    def forward(self, output, batch):
        return functional.cross_entropy(output.logits["global"], batch.pids)


class HardTriplet(nn.Module):
    """Mines over all that it is shown, and has a parameter of its own."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.num_seen = 0

    def forward(self, output, batch):
        features, same = output.features["global"], batch.pids[:, None] == batch.pids
        self.num_seen = len(features)
        distances = (features[:, None] - features).square().sum(-1).add(1e-6).sqrt() * self.scale
        hardest = distances.masked_fill(~same, -1).amax(1)
        nearest = distances.masked_fill(same, 1e6).amin(1)
        return (hardest - nearest + 0.3).relu().mean() + 0.1 * (self.scale - 2).square()

    def metrics(self):
        return {"num_seen": torch.tensor(float(self.num_seen))}


class Remembering(CrossEntropy):
    needs_gather = True


class Trainer(DefaultTrainer):
    """The default trainer with a small model; ``parts`` say which."""

    def __init__(self, config, processes, *, norm=False, dropout=0.0, unused=False, loss=None):
        self.parts = norm, dropout, unused
        self.loss = loss
        super().__init__(config, processes=processes)

    def build_model(self):
        norm, dropout, unused = self.parts
        losses = [
            WeightedLoss("ce", CrossEntropy()),
            WeightedLoss("triplet", HardTriplet(), 0.5, gather=True),
        ]
        return Baseline(
            backbone=Backbone(norm),
            head=Head(self.label_map.num_classes, dropout, unused),
            losses=losses if self.loss is None else [self.loss],
        )


class Averaging(nn.Module):
    """Cross-entropy, weighted by an average of earlier batches that a buffer keeps."""

    def __init__(self):
        super().__init__()
        self.register_buffer("average", torch.ones(()))

    def forward(self, output, batch):
        value = functional.cross_entropy(output.logits["global"], batch.pids)
        weight = self.average.clone()
        self.average.lerp_(value.detach(), 0.5)
        return value * weight


class Keeper:
    """Keeps the images of every step, those of all processes."""

    def __init__(self):
        self.images = []

    @hookimpl
    def before_step(self, batch):
        is_shared = torch.distributed.is_initialized()
        self.images.append(gathered(batch.images) if is_shared else batch.images)


class Freezer:
    """Freezes the backbone in steps 4 to 8, as the hook freeze does."""

    @hookimpl
    def before_step(self, trainer, step):
        for parameter in trainer.model.backbone.parameters():
            parameter.requires_grad_(not 4 <= step < 9)


class Stopper:
    """Stops after a step, in the second process only."""

    def __init__(self, rank):
        self.rank = rank

    @hookimpl
    def should_stop(self, step):
        return "enough" if self.rank == 1 and step == 9 else None


class Interrupter:
    """Asks for the end in the second process only, as a signal does."""

    @hookimpl
    def before_step(self, trainer, step):
        if trainer.processes.rank == 1 and step == 3:
            trainer.request_stop(15)


def config_of(folder, name, **settings):
    """The configuration of a run in ``folder/name``, with settings by dotted path."""
    run = TinyRun(
        settings={
            "output": str(folder / name),
            "data.batch.identities": 6,
            "data.batch.instances": 2,
            "data.transforms": AUGMENTED,
            "train.epochs": EPOCHS,
            "train.log_every": 1,
            "evaluate.every": EPOCHS,
            # All but the report, which is the same in all runs and takes longer than the training.
            "default_hooks": [{"name": f"reid-core/{n}", "id": n} for n in DEFAULT_HOOKS[:-1]],
            **{key.replace("__", "."): value for key, value in settings.items()},
        }
    )
    return run.config(folder)


def run_of(folder, name, processes, hooks=(), *, resume=None, parts=None, **settings):
    """Train; return the trainer."""
    trainer = Trainer(config_of(folder, name, **settings), processes, **(parts or {}))
    trainer.register_hooks(list(hooks))
    trainer.resume_or_load(resume)
    trainer.train()
    return trainer


def weights_of(trainer):
    return {name: value.clone() for name, value in trainer.model.state_dict().items()}


def largest_difference(first, second):
    names = [name for name, value in first.items() if value.is_floating_point()]
    return max(float((first[n].double() - second[n].double()).abs().max()) for n in names)


def rows_of(folder, name):
    lines = (folder / name / "metrics.jsonl").read_text().splitlines()
    return [
        {key: value for key, value in json.loads(line).items() if not key.startswith("time/")}
        for line in lines
    ]


def message_of(action):
    try:
        action()
    except (ReidError, Interrupted) as error:
        return f"{type(error).__name__}: {error}"
    return "none"


def flat(value):
    """The tensors and numbers of a state, in order."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value, key=str) for leaf in flat(value[key])]
    if isinstance(value, (list, tuple)):
        return [leaf for child in value for leaf in flat(child)]
    return [value]


def is_same_state(first, second):
    pairs = list(zip(flat(first), flat(second), strict=True))
    return all(torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b for a, b in pairs)


#: Runs that one and two processes do alike: settings, parts, whether the backbone is frozen.
ALIKE = {
    "sgd": ({"train__optimizer": {"name": "reid-core/sgd", "lr": 0.05}}, {}, False),
    "adam": ({}, {}, False),
    "sync_bn": ({"train__distributed__sync_batch_norm": True}, {"norm": True}, False),
    "frozen": ({}, {}, True),
    "clipped": ({"train__clip_gradients": {"limit": 0.1}}, {}, False),
    # 3 of the 6 images of a process at a time, and 4 of 12 alone.
    "chunks": ({"train__micro_batch": 4}, {}, False),
    "unused": ({"train__distributed__find_unused_parameters": True}, {"unused": True}, False),
}


def alike(folder, name, processes):
    """Do a run of ``ALIKE``; return its trainer and its images."""
    settings, parts, is_frozen = ALIKE[name]
    keeper = Keeper()
    hooks = [keeper, *([Freezer()] if is_frozen else [])]
    how = "alone" if processes.count == 1 else "together"
    trainer = run_of(folder, f"{name}_{how}", processes, hooks, parts=parts, **settings)
    return trainer, keeper.images


def together(folder, processes):
    """Everything that needs both processes; what is returned the first one compares."""
    trained = {name: alike(folder, name, processes) for name in ALIKE}
    report = {
        "equal_weights": all(
            all(is_same_state(weights_of(t), other) for other in processes.gather([weights_of(t)]))
            for t, _ in trained.values()
        ),
        "observers": processes.gather([[key for key, _ in trained["sgd"][0].hooks.items()]]),
        "metrics": processes.gather([trained["sgd"][0].results.latest()]),
    }
    random = {"parts": {"dropout": 0.3, "norm": True}}
    whole = run_of(folder, "whole", processes, **random)
    stopped = run_of(folder, "halves", processes, [Stopper(processes.rank)], **random)
    report["stopped_after"] = processes.gather([stopped.iter])
    resumed = run_of(folder, "halves", processes, resume="auto", **random)
    first, second = whole.state_dict(), resumed.state_dict()
    keys = ("model", "optimizer", "random", "random_of_ranks")
    report["resumed"] = processes.gather([all(is_same_state(first[k], second[k]) for k in keys)])
    chunks = {"parts": {"loss": WeightedLoss("own", Averaging())}, "train__micro_batch": 4}
    own = run_of(folder, "whole_chunks", processes, **chunks).state_dict()
    chunks["parts"] = {"loss": WeightedLoss("own", Averaging())}
    run_of(folder, "cut_chunks", processes, [Stopper(processes.rank)], **chunks)
    chunks["parts"] = {"loss": WeightedLoss("own", Averaging())}
    cut = run_of(folder, "cut_chunks", processes, resume="auto", **chunks).state_dict()
    report["resumed_in_chunks"] = is_same_state(own["model"], cut["model"])
    states = first["random_of_ranks"]
    report["ranks_draw_differently"] = not torch.equal(states[0]["torch"], states[1]["torch"])
    report["interrupted"] = processes.gather(
        [
            message_of(lambda: run_of(folder, "interrupted", processes, [Interrupter()])),
            str(json.loads((folder / "interrupted/status.json").read_text())["step"]),
        ]
    )
    memory = WeightedLoss("remembering", Remembering())
    report["refused"] = processes.gather(
        [message_of(lambda: run_of(folder, "refused", processes, parts={"loss": memory}))]
    )
    report["uneven"] = processes.gather(
        [message_of(lambda: run_of(folder, "uneven", processes, data__batch__identities=5))]
    )
    report["averaged"] = processes.gather([averaged(processes)])
    report["lacking"] = processes.gather(
        [message_of(lambda: run_of(folder, "lacking", processes, parts={"unused": True}))]
    )
    return report, trained


def averaged(processes):
    """Gradients of three parameters: one of all, one of the second process, one of nobody."""
    parameters = [nn.Parameter(torch.zeros(2)) for _ in range(3)]
    parameters[0].grad = torch.full((2,), 1.0 + processes.rank)
    if processes.rank == 1:
        parameters[1].grad = torch.full((2,), 4.0)
    average_gradients(parameters)
    return [None if p.grad is None else p.grad.tolist() for p in parameters]


def compared(folder, trained):
    """What the first process does alone, against what it did with the second."""
    figures = {}
    for name, (trainer, images) in trained.items():
        own, own_images = alike(folder, name, ALONE)
        untrained = Trainer(own.config, ALONE, **ALIKE[name][1])
        rows, own_rows = rows_of(folder, f"{name}_together"), rows_of(folder, f"{name}_alone")
        figures[name] = {
            "weights": largest_difference(weights_of(trainer), weights_of(own)),
            "moved": largest_difference(weights_of(own), weights_of(untrained)),
            "steps": trainer.iter,
            "images": all(torch.equal(a, b) for a, b in zip(images, own_images, strict=True)),
            "keys": [list(row) for row in rows] == [list(row) for row in own_rows],
            "rows": max(
                abs(row[key] - own_row[key])
                for row, own_row in zip(rows, own_rows, strict=True)
                for key in row
            ),
        }
    return figures


def resumed_alone(folder):
    """Go on with a checkpoint of two processes in one; return what is said."""
    said = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    logging.getLogger("reid_core").addHandler(handler)
    run_of(folder, "halves", ALONE, resume="auto", parts={"dropout": 0.3, "norm": True})
    return [line for line in said if "processes" in line]


if __name__ == "__main__":
    torch.set_num_threads(1)
    here = Path(sys.argv[1])
    with joined_processes() as these:
        found, trainers = together(here, these)
    if these.is_first:
        found["figures"] = compared(here, trainers)
        found["resumed_alone"] = resumed_alone(here)
        (here / "report.json").write_text(json.dumps(found))
