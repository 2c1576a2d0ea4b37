"""Protocols that promise to leave out entries of the query's own identity alone keep that."""

from importlib.metadata import entry_points

import numpy as np
import pytest

from reid_core.evaluation import Labels

COLUMNS = ("rows", "clothids", "sequences", "frames")


def protocols():
    for entry in sorted(entry_points(group="reid_core.protocols")):
        if entry.dist.name == "reid-core":
            protocol = entry.load()()
            if protocol.excludes_own_pid_only:
                yield pytest.param(protocol, id=entry.name)


def labels(rng, size):
    columns = {name: rng.integers(0, 4, size) for name in COLUMNS}
    return Labels(rng.integers(-1, 5, size), rng.integers(1, 7, size), columns)


@pytest.mark.parametrize("protocol", list(protocols()))
@pytest.mark.parametrize("seed", range(5))
def test_what_is_left_out_is_junk_or_of_the_own_identity(protocol, seed):
    rng = np.random.default_rng(seed)
    query, gallery = labels(rng, 30), labels(rng, 200)
    excluded, ignored = protocol.excluded(query, gallery), protocol.ignored(gallery)
    is_other = query.pids[:, None] != gallery.pids
    assert not (excluded & ~ignored & is_other).any()
    assert excluded[:, ignored].all()
    # Part of the gallery is answered as the whole was.
    part = rng.permutation(200)[:70]
    again = protocol.excluded(query, gallery.take(part))
    np.testing.assert_array_equal(again, protocol.excluded(query, gallery)[:, part])
