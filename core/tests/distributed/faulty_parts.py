"""Local code for ``reid-train --plugin-file``: a tiny model, and a hook that makes trouble.

After step 8 of a run, which has a checkpoint of step 6, the hook does what the variable ``FAULT``
says:

    raise      process 1 raises a DataError
    stuck      the same, and process 0 is in a call that does not return
    kill       process 1 kills itself, once: a file in the run folder tells the next start
    terminate  process 1 gets a SIGTERM
    slow       process 0 is busy for longer than the others like to wait
"""

import os
import signal
import time

from torch import nn

from reid_core.errors import DataError
from reid_core.hookspecs import hookimpl
from reid_core.plugins.registries import BACKBONES, HEADS, HOOKS, LOSSES
from reid_core.testing.tiny_model import TinyHead, TinyLoss


@BACKBONES.register(name="tiny_backbone")
class Backbone(nn.Module):
    feature_dim = 8

    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(
            nn.Sequential(nn.Conv2d(3, 8, 5, stride=4), nn.ReLU()),
            nn.Sequential(nn.Conv2d(8, 8, 1), nn.ReLU()),
        )

    def forward(self, images):
        return self.blocks(images)


HEADS.register(TinyHead, name="tiny_head")
LOSSES.register(TinyLoss, name="tiny_loss")


@HOOKS.register(name="faulty")
class Faulty:
    @hookimpl
    def after_step(self, trainer, step):
        fault, rank = os.environ.get("FAULT"), trainer.processes.rank
        if step + 1 != 8:
            return
        if rank == 0 and fault == "slow":
            time.sleep(2)
        if rank == 0 and fault == "stuck":
            time.sleep(600)
        if rank == 1 and fault in ("raise", "stuck"):
            raise DataError("the disk is full")
        if rank == 1 and fault == "terminate":
            os.kill(os.getpid(), signal.SIGTERM)
        if rank == 1 and fault == "kill":
            mark = trainer.folder.path / "killed_once"
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
