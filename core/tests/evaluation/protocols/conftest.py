"""Points on a line: the distance of two images is the distance of their points."""

import numpy as np
import pytest
import torch

from reid_core.evaluation import Embeddings, evaluate_retrieval


@pytest.fixture
def points():
    """Return embeddings of images that are points on a line."""

    def build(places, pids, camids=None, /, **columns):
        return Embeddings(
            torch.tensor(places, dtype=torch.float32)[:, None],
            np.array(pids),
            np.zeros(len(pids), dtype=np.int64) if camids is None else np.array(camids),
            {name: np.array(values) for name, values in columns.items()},
        )

    return build


@pytest.fixture
def evaluated():
    """Evaluate queries against a gallery by euclidean distance."""

    def evaluate(query, gallery, protocol):
        return evaluate_retrieval(query, gallery, distance="euclidean", protocol=protocol)

    return evaluate
