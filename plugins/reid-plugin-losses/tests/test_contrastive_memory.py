import copy

import pytest
import torch
from torch import Tensor

from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_losses.contrastive_memory import ContrastiveMemoryLoss

WIDTH = 4


def random_batches(count: int, rows: int = 6) -> list[tuple[Tensor, Batch]]:
    generator = torch.Generator().manual_seed(0)
    found = []
    for _ in range(count):
        features = torch.randn(rows, WIDTH, generator=generator).double()
        index = torch.randint(12, (rows,), generator=generator)  # images come again
        zeros = torch.zeros(rows, dtype=torch.int64)
        found.append((features, Batch(torch.zeros(rows, 3, 1, 1), index % 4, zeros, index)))
    return found


def call(loss: ContrastiveMemoryLoss, features: Tensor, batch: Batch) -> Tensor:
    return loss(HeadOutput(features, {"global": features}), batch)


def plain_loops(
    features: Tensor, batch: Batch, kept: list[tuple[Tensor, int, int]], near: float, far: float
) -> Tensor:
    """Return the loss against the batch and what is kept: (feature, pid, index) each."""
    pids, index = batch.pids.tolist(), batch.index.tolist()
    positives, negatives = [], []
    for i, row in enumerate(features):
        others = [(features[j], pids[j], None) for j in range(len(pids)) if j != i]
        mine: dict[bool, list[Tensor]] = {True: [], False: []}
        for other, pid, image in [*others, *kept]:
            if pid == pids[i] and image == index[i]:
                continue
            cosine = (row / row.norm() * other / other.norm()).sum()
            mine[pid == pids[i]].append(1 - cosine)
        if mine[True] and mine[False]:
            positives += [d - near for d in mine[True] if d > near]
            negatives += [far - d for d in mine[False] if d < far]
    return sum(positives) / max(1, len(positives)) + sum(negatives) / max(1, len(negatives))


def test_batches_cost_what_plain_loops_over_the_memory_say() -> None:
    loss = ContrastiveMemoryLoss(
        feature_dim=WIDTH, memory_size=8, positive_margin=0.1, negative_margin=0.9
    ).double()
    kept: list[tuple[Tensor, int, int]] = []
    for features, batch in random_batches(6):
        ours, theirs = (features.clone().requires_grad_() for _ in range(2))
        value = call(loss, ours, batch)
        expected = plain_loops(theirs, batch, kept, 0.1, 0.9)
        torch.testing.assert_close(value, expected)
        (found,) = torch.autograd.grad(value, ours)
        (wanted,) = torch.autograd.grad(expected, theirs)
        torch.testing.assert_close(found, wanted)
        kept += zip(features, batch.pids.tolist(), batch.index.tolist(), strict=True)
        kept = kept[-8:]


def test_an_entry_of_the_same_image_is_not_its_positive() -> None:  # B085
    features = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    rows = torch.arange(2)
    batch = Batch(torch.zeros(2, 3, 1, 1), rows, rows, rows)
    loss = ContrastiveMemoryLoss(feature_dim=2, memory_size=8)
    for _ in range(3):
        call(loss, features, batch)
        assert loss.metrics()["valid_anchors"].item() == 0
    # The same features under other indices: other images of the two identities.
    call(loss, features, Batch(batch.images, batch.pids, batch.camids, rows + 2))
    assert loss.metrics()["valid_anchors"].item() == 2
    assert loss.metrics()["hardest_positive_distance"].item() == pytest.approx(0, abs=1e-6)


def test_the_memory_is_read_after_the_first_steps() -> None:
    late = ContrastiveMemoryLoss(feature_dim=WIDTH, memory_size=24, start_step=3).double()
    without = ContrastiveMemoryLoss(feature_dim=WIDTH, memory_size=24, start_step=99).double()
    at_once = ContrastiveMemoryLoss(feature_dim=WIDTH, memory_size=24).double()
    for step, (features, batch) in enumerate(random_batches(5)):
        values = [call(loss, features, batch).item() for loss in (late, without, at_once)]
        assert (values[0] == values[1]) == (step < 3 or values[1] == values[2])
        assert (values[0] == values[2]) == (step >= 3 or values[1] == values[2])


def test_a_loss_from_the_saved_state_goes_on_exactly() -> None:
    batches = random_batches(6)
    loss = ContrastiveMemoryLoss(feature_dim=WIDTH, memory_size=8, start_step=2)
    for features, batch in batches[:4]:
        call(loss, features.float(), batch)
    resumed = ContrastiveMemoryLoss(feature_dim=WIDTH, memory_size=8, start_step=2)
    resumed.load_state_dict(copy.deepcopy(loss.state_dict()))
    for features, batch in batches[4:]:
        values = [call(one, features.float(), batch) for one in (loss, resumed)]
        assert torch.equal(*values)


def test_evaluation_mode_leaves_the_memory_as_it_is() -> None:
    loss = ContrastiveMemoryLoss(feature_dim=WIDTH, memory_size=8)
    (first, batch), (second, other) = random_batches(2)
    call(loss, first.float(), batch)
    before = copy.deepcopy(loss.state_dict())
    call(loss.eval(), second.float(), other)
    assert all(torch.equal(value, before[name]) for name, value in loss.state_dict().items())


def test_wrong_parameters_and_branches_are_errors() -> None:
    with pytest.raises(ConfigError, match="contrastive_memory: memory_size: got 0, expected at"):
        ContrastiveMemoryLoss(feature_dim=WIDTH, memory_size=0)
    with pytest.raises(ConfigError, match="contrastive_memory: start_step: got -1, expected at"):
        ContrastiveMemoryLoss(feature_dim=WIDTH, start_step=-1)
    with pytest.raises(ConfigError, match="contrastive_memory: negative_margin: got 0"):
        ContrastiveMemoryLoss(feature_dim=WIDTH, negative_margin=0)
    with pytest.raises(ConfigError, match=r"contrastive_memory: the length .* is not known"):
        ContrastiveMemoryLoss()
    ((features, batch),) = random_batches(1)
    with pytest.raises(ConfigError, match="because it keeps a memory for one feature"):
        ContrastiveMemoryLoss(feature_dim=WIDTH)(
            HeadOutput(features, {"a": features, "b": features}), batch
        )
