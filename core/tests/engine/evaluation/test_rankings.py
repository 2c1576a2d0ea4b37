"""Ranked galleries of chosen queries, also where a protocol draws or groups images."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from reid_core.engine.evaluation.rankings import ranked_galleries
from reid_core.evaluation import (
    AnyCamera,
    Embeddings,
    Prepared,
    Trial,
    evaluate_retrieval,
    evaluate_search,
    searches,
)


@dataclass(frozen=True)
class Drawn(AnyCamera):
    """Two trials; in the first rows 3 and 1 search rows 0 and 2 and 4."""

    name: str = "drawn"
    description: str = "drawn twice"

    def trials(self, query, gallery):
        return [
            Trial(np.array([3, 1]), np.array([0, 2, 4])),
            Trial(np.array([0]), np.array([1, 2, 3])),
        ]


@dataclass(frozen=True)
class Halved(AnyCamera):
    """Gallery entries are pairs of images, each the mean of the two."""

    name: str = "halved"
    description: str = "means of two"

    def prepare(self, query, gallery):
        means = gallery.features.reshape(-1, 2, gallery.features.shape[1]).mean(dim=1)
        first = np.arange(0, len(gallery), 2)
        labels = gallery.labels.take(first)
        pairs = Embeddings(means, labels.pids, labels.camids, labels.columns)
        return Prepared(query, pairs, np.arange(len(query)), first)


def sides(pids, values, num_query):
    features = torch.tensor([[value] for value in values], dtype=torch.float32)
    cut = slice(None, num_query), slice(num_query, None)
    return [
        Embeddings(features[rows], np.array(pids)[rows], np.zeros(len(values), np.int64)[rows])
        for rows in cut
    ]


def ranked(query, gallery, protocol, **settings):
    options = {"distance": "euclidean", "protocol": protocol}
    result = evaluate_retrieval(query, gallery, **options)
    search = next(searches(query, gallery, **options))
    return search, ranked_galleries(
        search, result, dataset="set", describe=lambda row: {"path": f"{row}.jpg"}, **settings
    )


def test_galleries_are_those_of_a_plain_sort():
    rng = np.random.default_rng(0)
    pids, values = rng.integers(0, 4, 40), rng.normal(size=40)
    pids[30:34] = [0, 1, 2, 3]
    query, gallery = sides(pids, values, 10)
    _, records = ranked(query, gallery, AnyCamera("any", "all count"), queries=10, results=30)
    assert sorted({one["query"]["path"] for one in records}) == sorted(
        f"{q}.jpg" for q in range(10)
    )
    for one in records:
        row = int(one["query"]["path"].removesuffix(".jpg"))
        found = [int(entry["path"].removesuffix(".jpg")) for entry in one["results"]]
        assert found == sorted(range(10, 40), key=lambda entry: abs(values[entry] - values[row]))
        for entry, place in zip(one["results"], found, strict=True):
            assert entry["match"] == bool(pids[place] == pids[row])
            assert entry["distance"] == pytest.approx(abs(values[place] - values[row]), abs=1e-5)
        assert (one["protocol"], one["distance"], one["dataset"]) == ("any", "euclidean", "set")


# B161: a gallery of 5 gives 5 rows a query.
def test_a_gallery_smaller_than_the_list_gives_what_there_is():
    query, gallery = sides([1, 1, 2, 2, 1, 2], [0, 1, 2, 3, 4, 5], 1)
    _, (record,) = ranked(query, gallery, AnyCamera("any", "all count"), results=20)
    assert len(record["results"]) == 5


def test_of_a_protocol_that_draws_the_first_trial_is_shown_by_rows_of_the_set():
    query, gallery = sides([1, 2, 1, 1, 2], [0.0, 1.0, 2.0, 3.0, 4.0], 2)
    search, records = ranked(query, gallery, Drawn())
    found = {one["query"]["path"]: [entry["path"] for entry in one["results"]] for one in records}
    # Ties of the distance stand in the order of their rows.
    assert found == {"3.jpg": ["2.jpg", "4.jpg", "0.jpg"], "1.jpg": ["0.jpg", "2.jpg", "4.jpg"]}
    by_hand = dict(zip(["3.jpg", "1.jpg"], evaluate_search(search).ap, strict=True))
    assert {one["query"]["path"]: one["ap"] for one in records} == by_hand


def test_a_group_of_images_is_shown_by_its_first():
    query, gallery = sides([1, 2, 2, 1, 1], [0.0, 5.0, 7.0, 1.0, 3.0], 1)
    _, (record,) = ranked(query, gallery, Halved())
    assert [(one["path"], one["distance"]) for one in record["results"]] == [
        ("3.jpg", 2.0),
        ("1.jpg", 6.0),
    ]


def test_worst_random_and_best_are_chosen_once_each_and_by_the_seed():
    rng = np.random.default_rng(1)
    query, gallery = sides(rng.integers(0, 3, 60), rng.normal(size=60), 20)
    protocol = AnyCamera("any", "all count")
    _, records = ranked(query, gallery, protocol, queries=3)
    assert [one["selection"] for one in records] == ["worst"] * 3 + ["random"] * 3 + ["best"] * 3
    assert len({one["query"]["path"] for one in records}) == 9
    scores = [one["ap"] for one in records]
    assert max(scores[:3]) <= min(scores[3:6])
    assert max(scores[3:6]) <= min(scores[6:])
    assert ranked(query, gallery, protocol, queries=3)[1] == records
    assert ranked(query, gallery, protocol, queries=3, seed=1)[1] != records


def test_what_was_done_before_is_told():
    query, gallery = sides([1, 1, 2], [0.0, 1.0, 2.0], 1)
    options = {"distance": "euclidean", "protocol": AnyCamera("any", "all count")}
    result = replace(evaluate_retrieval(query, gallery, **options), postprocessing=("smoothed",))
    search = next(searches(query, gallery, **options))
    (record,) = ranked_galleries(search, result, dataset="set", describe=lambda row: {"row": row})
    assert record["postprocessing"] == ["smoothed"]
    assert record["query"] == {"row": 0}
