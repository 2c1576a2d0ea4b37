from __future__ import annotations

import torch
from torch import nn

from reid_core.contracts import Batch
from reid_core.evaluation.extract import extract_embeddings
from reid_core.evaluation.tf32 import tf32_switched


def allowed():
    return torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32


class Watching(nn.Module):
    """Remembers what torch allows while it embeds."""

    def embed(self, images):
        self.seen = allowed()
        return images.flatten(1)


def test_images_are_embedded_in_true_float32_whatever_training_allows():
    rows = torch.arange(2)
    batch = Batch(images=torch.rand(2, 3, 1, 1), pids=rows, camids=rows, index=rows)
    model = Watching()
    before = allowed()
    with tf32_switched(True):
        extract_embeddings(model, [batch], torch.device("cpu"))
        assert allowed() == (True, True)
    assert model.seen == (False, False)
    extract_embeddings(model, [batch], torch.device("cpu"))
    assert model.seen == (False, False)
    assert allowed() == before
