"""The page of metrics names every figure, reason and file that there is."""

import re

import numpy as np
import torch

from reid_core.evaluation import (
    Embeddings,
    describe,
    evaluate_retrieval,
    open_set,
)
from reid_core.evaluation.metrics.failures import REASONS
from reid_core.evaluation.metrics.query_figures import MATCH_RANKS, RECALL_RANKS


def names_of_figures():
    """Every name under ``metrics``, of a set that has known and unknown queries."""
    rng = np.random.default_rng(0)
    sides = [
        Embeddings(
            torch.from_numpy(rng.normal(size=(number, 4))),
            rng.integers(0, people, number),
            np.full(number, camera),
        )
        for number, people, camera in ((30, 6, 0), (150, 4, 1))
    ]
    result = evaluate_retrieval(*sides, protocol=open_set(), max_rank=120)
    return set(describe(*sides, protocol=open_set(), result=result).metrics)


def test_every_figure_is_on_the_page(page):
    text = page("docs/metrics.md").prose
    told = set(re.findall(r"`([^`]+)`", text))
    for name in names_of_figures():
        family = re.sub(r"@\d+$", "@K", name)
        rate = name.rpartition("=")[0]
        is_told = name in told or family in told or any(one.startswith(f"{rate}=") for one in told)
        assert is_told, name


def test_the_depths_on_the_page_are_those_measured(page):
    text = page("docs/metrics.md").prose
    for name, depths in (("recall", RECALL_RANKS), ("match_recall", MATCH_RANKS)):
        assert f"`{name}@K` for {', '.join(map(str, depths))} |" in text


def test_every_reason_of_a_failure_is_on_the_page_in_the_order_in_which_they_are_tried(page):
    text = page("docs/metrics.md").section("Failures").prose
    assert re.findall(r"^\| `(\w+)` \|", text, re.M) == list(REASONS)
