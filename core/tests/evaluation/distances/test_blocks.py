import tracemalloc

import numpy as np
import pytest

from reid_core.errors import UsageError
from reid_core.evaluation import Labels, evaluate_search, market1501
from reid_core.evaluation.distances.blocks import block_bounds, block_size_within
from reid_core.evaluation.search import Search, number_rows


@pytest.mark.parametrize(
    ("queries", "gallery", "size"),
    [(3368, 15_913, 527), (11_659, 82_161, 102), (3368, 1_015_913, 64), (10, 0, 10)],
)
def test_blocks_cover_all_queries_and_stay_near_32_mb(queries, gallery, size):
    bounds = block_bounds(queries, gallery)
    assert [row for start, stop in bounds for row in range(start, stop)] == list(range(queries))
    assert bounds[0] == (0, size)


def test_case_b060_a_memory_limit_is_kept_and_changes_no_figure():
    limit, queries, gallery = 2_000_000, 200, 2000
    rng = np.random.default_rng(0)
    distances = rng.random((queries, gallery), dtype=np.float32)
    labels = number_rows(
        Labels(rng.integers(0, 50, queries), rng.integers(0, 4, queries)),
        Labels(rng.integers(0, 50, gallery), rng.integers(0, 4, gallery)),
    )

    def evaluate(block_size):
        search = Search(
            *labels,
            distances=lambda start, stop: distances[start:stop].copy(),
            protocol=market1501(),
            distance="given",
            num_gallery=gallery,
        )
        tracemalloc.start()
        result = evaluate_search(search, block_size=block_size)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return result, peak

    evaluate(queries)
    whole, _ = evaluate(queries)
    part, peak = evaluate(block_size_within(limit, gallery))
    assert peak < limit
    np.testing.assert_allclose(part.ap, whole.ap, rtol=0, atol=1e-6)
    np.testing.assert_allclose(part.inp, whole.inp, rtol=0, atol=1e-6)
    np.testing.assert_allclose(part.cmc, whole.cmc, rtol=0, atol=1e-6)


def test_the_block_size_follows_from_the_limit():
    assert block_size_within(16_000, 1000) == 2
    assert block_size_within(8000, 1000) == 1


def test_a_limit_too_small_for_one_query_says_what_one_needs():
    with pytest.raises(UsageError, match="memory_limit is 7999 bytes; expected at least 8000"):
        block_size_within(7999, 1000)
