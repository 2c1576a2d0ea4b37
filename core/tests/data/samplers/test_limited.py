"""An epoch that is cut short has the first batches of the whole one."""

import numpy as np
import pytest

from reid_core.data.keys import EpochKeys
from reid_core.data.samplers import EpochSampler
from reid_core.data.samplers.identity import IdentitySampler
from reid_core.data.samplers.limited import LimitedSampler

LABELS = np.repeat(np.arange(12), 4)


def whole():
    return IdentitySampler(labels=LABELS, seed=3, identities=4, instances=2)


@pytest.mark.parametrize("epoch", [0, 5])
def test_the_batches_are_the_first_ones_of_the_whole_epoch(epoch):
    cut = LimitedSampler(whole(), 2)
    assert isinstance(cut, EpochSampler)
    assert len(whole()) == 6
    assert len(cut) == 2
    expected = list(whole().batches(epoch))[:2]
    assert [rows.tolist() for rows in cut.batches(epoch)] == [rows.tolist() for rows in expected]


def test_more_than_there_are_is_all():
    cut = LimitedSampler(whole(), 100)
    assert len(cut) == len(list(cut.batches(0))) == 6
    assert cut.summary() == whole().summary()


def test_the_summary_says_how_much_is_used():
    assert LimitedSampler(whole(), 2).summary().endswith("; only the first 2 of 6 batches")


def test_two_processes_share_the_batches_that_are_left_by_whole_identities():
    cut = LimitedSampler(whole(), 2)
    parts = [
        list(EpochKeys(cut, seed=0, num_rows=len(LABELS), rank=rank, num_ranks=2))
        for rank in (0, 1)
    ]
    assert [len(part) for part in parts] == [2, 2]
    for first, second, rows in zip(*parts, list(whole().batches(0))[:2], strict=True):
        mine, others = ([key.row for key in part] for part in (first, second))
        assert [*mine, *others] == rows.tolist()
        assert not set(LABELS[mine]) & set(LABELS[others])
