import pytest

from reid_core.testing import RerankerConformance

GOOD = """
from dataclasses import dataclass, field

import numpy as np
import torch
from reid_core.evaluation import DistanceReranker, pairwise_distance

@dataclass(frozen=True)
class Rule(DistanceReranker):
    kept: dict = field(default_factory=dict)

    def needed_bytes(self, num_query, num_gallery, width):
        return 4 * num_gallery

    def distances(self, query, gallery, *, distance):
        matrix = pairwise_distance(query, gallery, distance).numpy()
        mean = matrix.mean(axis=0)
        return lambda start, stop: matrix[start:stop] + mean

def Example():
    return Rule(name="example", description="distance to the mean query is added")
"""
BLOCK = "matrix[start:stop] + mean"

FAULTS = {
    "it is no reranker": (
        "test_name_and_description_are_one_line", "return Rule", "return dict",
        "gave a dict; expected a reid_core.evaluation.FeatureReranker or DistanceReranker",
    ),
    "it says too much": (
        "test_name_and_description_are_one_line", "to the mean", "to\\nthe mean",
        "its description is",
    ),
    "it gives all queries": (
        "test_results_have_the_shape_of_what_they_replace", BLOCK, "matrix + mean",
        r"gives a numpy array \(12, 40\) float32 for queries 3 to 8; expected .* array \(5, 40\)",
    ),
    "it gives a tensor": (
        "test_results_have_the_shape_of_what_they_replace", BLOCK, f"torch.from_numpy({BLOCK})",
        r"gives a torch tensor \(5, 40\) float32 for queries 3 to 8; expected a numpy array",
    ),
    "it knows one distance": (
        "test_results_have_the_shape_of_what_they_replace", "        matrix =",
        "        {'cosine': 1}[distance]\n        matrix =",
        "raised KeyError with distance euclidean",
    ),
    "it divides by the spread": (
        "test_results_are_finite", "+ mean\n", "/ (matrix.std() or np.nan)\n",
        "where all embeddings are equal .* are not finite",
    ),
    "it changes the embeddings": (
        "test_embeddings_are_left_alone", "        matrix =",
        "        query += 1\n        matrix =",
        "changes the embeddings",
    ),
    "it draws anew": (
        "test_results_repeat", "mean = matrix.mean(axis=0)",
        "mean = np.random.default_rng().random(len(gallery))",
        "other distances the second time",
    ),
    "it looks at the block alone": (
        "test_blocks_of_queries_give_the_same", BLOCK,
        "matrix[start:stop] + matrix[start:stop].mean(axis=0)",
        "distances of a block of queries differ",
    ),
    "it prefers the first entry": (
        "test_order_of_the_gallery_does_not_matter", "mean = matrix.mean(axis=0)",
        "mean = np.arange(len(gallery))",
        "depends on the order of the gallery",
    ),
    "it counts nothing": (
        "test_needed_bytes_grow_with_the_set", "4 * num_gallery", "4.0",
        r"needed_bytes\(\) gives 4.0; expected bytes",
    ),
    "it says the same of every set": (
        "test_needed_bytes_grow_with_the_set", "4 * num_gallery", "4",
        "gives 4 for 1,100 rows and 4 for 110,000",
    ),
    "it draws globally": (
        "test_random_state_of_the_run_is_left_alone", "        matrix =",
        "        torch.rand(1)\n        matrix =",
        "global generator of torch",
    ),
}  # fmt: skip

FEATURES = """
from dataclasses import dataclass

from reid_core.evaluation import FeatureReranker

@dataclass(frozen=True)
class Rule(FeatureReranker):
    def needed_bytes(self, num_query, num_gallery, width):
        return 4 * num_gallery * width

    def features(self, query, gallery, *, distance):
        return query, gallery - query.mean(dim=0)

def Example():
    return Rule(name="example", description="less the mean of the queries")
"""


def test_good_rerankers_pass_every_check(installed_component, run_all_checks) -> None:
    assert run_all_checks(installed_component(RerankerConformance, GOOD)) == 12


def test_a_good_feature_reranker_passes_every_check(installed_component, run_all_checks) -> None:
    assert run_all_checks(installed_component(RerankerConformance, FEATURES)) == 12


def test_features_of_another_width_are_found(installed_component, run_check) -> None:
    component = installed_component(
        RerankerConformance, FEATURES, "query, gallery -", "query[:, :3], gallery -"
    )
    message = r"features\(\) makes \(12, 3\) float32 of \(12, 8\) float32; expected the same shape"
    with pytest.raises(AssertionError, match=message):
        run_check(component, "test_results_have_the_shape_of_what_they_replace")


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(installed_component, run_check, fault: str) -> None:
    check, old, new, message = FAULTS[fault]
    component = installed_component(RerankerConformance, GOOD, old, new)
    with pytest.raises(AssertionError, match=message):
        run_check(component, check)


def test_every_check_has_a_fault_that_it_finds(own_checks) -> None:
    found = {check for check, *_ in FAULTS.values()}
    assert own_checks(RerankerConformance) == found
