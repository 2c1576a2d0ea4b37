"""What each process of a test does; started by torchrun, it leaves a report in a file.

    torchrun --nproc-per-node 3 rank_script.py FOLDER

FOLDER has a small data set in ``market``, one image of it broken.
"""

import json
import logging
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

from reid_core.config import Config
from reid_core.data.datasets.market1501 import market1501
from reid_core.data.keys import RowKeys
from reid_core.data.query_gallery import TestSet
from reid_core.distributed.join import joined_processes
from reid_core.distributed.processes import ALONE, Processes
from reid_core.engine.evaluation.evaluator import Evaluator
from reid_core.errors import DataError, ReidError

CPU = torch.device("cpu")


class Mixed(nn.Module):
    """A random projection of the pixels: its rounding would show another company in a batch."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Sequential(nn.Conv2d(3, 8, 5, stride=4), nn.ReLU(), nn.Flatten())

    def embed(self, images):
        return self.layer(images)


class Failing(Mixed):
    def __init__(self, rank):
        super().__init__()
        self.rank = rank

    def embed(self, images):
        if self.rank == 1:
            raise DataError("the disk is full")
        return super().embed(images)


def rows_of(processes: Processes, num_rows: int, batch_size: int) -> np.ndarray:
    return RowKeys(num_rows, batch_size, rank=processes.rank, num_ranks=processes.count).rows


def gathered(processes: Processes, values: list[float], batch_size: int) -> list[list[float]]:
    rows = rows_of(processes, len(values), batch_size)
    part = torch.tensor(values)[torch.from_numpy(rows)][:, None]
    return processes.gather_rows(part, rows, len(values)).tolist()


def of_two(processes: Processes) -> list[list[float]]:
    """Gather three values in the first two processes."""
    group = torch.distributed.new_group([0, 1], backend="gloo")
    if processes.rank > 1:
        return []
    return gathered(Processes(processes.rank, 2, group), [1.0, 0.0, 0.0], 1)


def message_of(action) -> str:
    try:
        action()
    except ReidError as error:
        return f"{type(error).__name__}: {error}"
    return "none"


def evaluated(folder: Path, processes: Processes, model: nn.Module) -> dict[str, object]:
    config = Config.model_validate(
        {
            "data": {"image_size": [24, 16], "workers": 0, "broken_images": "skip"},
            "evaluate": {"batch_size": 3, "features": {"flip": True}},
        }
    )
    test_set = TestSet.of(market1501(root=str(folder / "market")))
    evaluator = Evaluator(test_set, config, CPU, processes)
    retrieval = evaluator.evaluate(model, lambda: None)
    return {
        "metrics": retrieval.result.scalars(),
        "ap": retrieval.result.ap.tolist(),
        "features": torch.cat([retrieval.query.features, retrieval.gallery.features]).tolist(),
        "rows": retrieval.rows.tolist(),
        "broken": [Path(image.path).name for image in evaluator.broken],
        "told": retrieval.features,
    }


def report(folder: Path, processes: Processes) -> dict[str, object]:
    few = rows_of(processes, 2, 64)
    empty = torch.empty((0, 0)) if not len(few) else torch.eye(2)[torch.from_numpy(few)]
    twice = np.arange(3)
    return {
        "rank": processes.rank,
        "ten": gathered(processes, [float(row) for row in range(10)], 1),
        "precisions": gathered(processes, [1.0, 0.0, 0.0], 1),
        "of_two": of_two(processes),
        "few": processes.gather_rows(empty, few, 2).tolist(),
        "twice": message_of(lambda: processes.gather_rows(torch.eye(3), twice, 3)),
        "widths": message_of(
            lambda: processes.gather_rows(
                torch.zeros(1, 1 + processes.rank), twice[:1] + processes.rank, processes.count
            )
        ),
        "together": evaluated(folder, processes, Mixed()),
        "alone": evaluated(folder, ALONE, Mixed()),
        "failed": message_of(lambda: evaluated(folder, processes, Failing(processes.rank))),
        "warns": logging.getLogger("reid_core").isEnabledFor(logging.WARNING),
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    here = Path(sys.argv[1])
    with joined_processes() as these:
        found = report(here, these)
    found["is_over"] = not torch.distributed.is_initialized()
    (here / f"rank{these.rank}.json").write_text(json.dumps(found))
