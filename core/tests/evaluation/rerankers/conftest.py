"""The published algorithm of k-reciprocal re-ranking, on full matrices."""

import numpy as np
import pytest


def published_k_reciprocal(distances, num_query, k1, k2, lambda_value):
    """Follow Zhong et al. 2017 step by step.

    Args:
        distances: (N, N) among queries and gallery.
        num_query: Q.
        k1: Neighbours.
        k2: Rows whose sets are averaged.
        lambda_value: Share of the original distance.

    Returns:
        (Q, G) distances.
    """
    return published_among(distances, k1, k2, lambda_value)[:num_query, num_query:]


def published_among(distances, k1, k2, lambda_value):
    """The same for all rows as queries of all rows, each of which is there once, (N, N)."""
    original = np.square(distances).astype(np.float32)
    original = (original / original.max(axis=0)).T
    order = np.argsort(original, axis=1, kind="stable")
    half = int(np.around(k1 / 2))
    weights = np.zeros_like(original)
    for row in range(len(original)):
        members = _reciprocal(order, row, k1)
        expanded = members
        for member in members:
            theirs = _reciprocal(order, member, half)
            if len(np.intersect1d(theirs, members)) > 2 / 3 * len(theirs):
                expanded = np.append(expanded, theirs)
        expanded = np.unique(expanded)
        weight = np.exp(-original[row, expanded])
        weights[row, expanded] = weight / weight.sum()
    if k2 != 1:
        weights = np.stack([weights[order[row, :k2]].mean(axis=0) for row in range(len(order))])
    jaccard = np.empty(original.shape)
    for row in range(len(original)):
        shared = np.minimum(weights[row], weights).sum(axis=1)
        jaccard[row] = 1 - shared / (2 - shared)
    return jaccard * (1 - lambda_value) + original * lambda_value


def _reciprocal(order, row, k):
    forward = order[row, : k + 1]
    return forward[(order[forward, : k + 1] == row).any(axis=1)]


@pytest.fixture(scope="session")
def published():
    """The algorithm as a function."""
    return published_k_reciprocal


@pytest.fixture(scope="session", name="published_among")
def published_among_fixture():
    """The algorithm on a set that is query and gallery at once."""
    return published_among
