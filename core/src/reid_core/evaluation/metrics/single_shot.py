"""Single-gallery-shot figures: one image of each identity in the gallery, whichever it is.

A query's figures depend on which image of each identity is in the gallery. Here they are the exact
expectation over all draws, each image being equally likely, so that no seed is needed; or the mean
of seeded draws, as older evaluations report it.

Take a match at distance d, drawn with chance 1/m of the m matches. Of another identity a share a of
its entries is nearer and a share t just as near. The identities before the match are independent:
their number N is a Poisson-binomial variable, whose chances are the discrete Fourier transform of
the product of 1 - a + a x over the roots of unity x. Tied identities take every order alike: given
a place u, uniform from 0 to 1, each of them is before the match with chance u. So an identity is
before it with chance a + u t, and the chances of N are integrals of polynomials in u, which a
Gauss-Legendre rule of enough points gives exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.distances.blocks import block_bounds
from reid_core.evaluation.matches import MatchFinder
from reid_core.evaluation.metrics.identity_ranks import Identities
from reid_core.evaluation.protocols.base import Draws
from reid_core.evaluation.search import ROWS, Search


@dataclass(frozen=True, eq=False)
class SingleShot:
    """Figures of single-shot galleries.

    Args:
        cmc: (max_rank,) float64 mean over the valid queries.
        ap: (Q,) float64 mean of 1 over the match's rank, NaN without a match. With one match it is
            both AP and INP.
        num_identities: (Q,) int64 identities that count for a query.
        ap_of_draws: (T,) float64 mean AP of each draw, empty for the expectation.
        cmc_of_draws: (T, max_rank) float64.
    """

    cmc: NDArray[np.float64]
    ap: NDArray[np.float64]
    num_identities: NDArray[np.int64]
    ap_of_draws: NDArray[np.float64]
    cmc_of_draws: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Row:
    """What one query sees: the distances that count, by identity."""

    distances: NDArray[np.float64]
    codes: NDArray[np.int64]
    own: int
    row: int


#: The chance of each N, by what they depend on: identities that tie, as pairs of a and t.
_Known = dict[tuple[int, bytes], NDArray[np.float64]]


def evaluate_single_shot(
    search: Search, *, draws: Draws | None, max_rank: int, block_size: int | None = None
) -> SingleShot:
    """Compute single-shot figures of one search.

    Args:
        search: Labels, distances and the rule.
        draws: Seeded draws; None is the exact expectation over all of them.
        max_rank: Length of the CMC.
        block_size: Queries a block; None chooses one.

    Returns:
        The figures.

    Source: Zhao et al., Unsupervised Salience Learning for Person Re-identification, CVPR 2013, and
    Li et al., DeepReID, CVPR 2014 (single-shot galleries); the expectation: original.
    """
    num_draws = draws.number if draws else 1
    ap = np.full((len(search.query), num_draws), np.nan)
    cmc = np.zeros((num_draws, max_rank))
    num_identities = np.zeros(len(search.query), dtype=np.int64)
    known: _Known = {}
    for position, row in _rows(search, block_size):
        if draws is None:
            chances, ap[position] = _expectation(row, max_rank, known)
        else:
            chances, ap[position] = _drawn(row, draws, max_rank)
        cmc += chances
        num_identities[position] = len(np.unique(row.codes))
    cmc /= max(1, int(np.count_nonzero(num_identities)))
    return SingleShot(
        cmc=cmc.mean(axis=0),
        ap=ap.mean(axis=1),
        num_identities=num_identities,
        ap_of_draws=_valid_mean(ap) if draws else np.empty(0),
        cmc_of_draws=cmc if draws else np.empty((0, max_rank)),
    )


def _valid_mean(ap: NDArray[np.float64]) -> NDArray[np.float64]:
    valid = ap[~np.isnan(ap[:, 0])]
    return np.asarray(valid.sum(axis=0) / max(1, len(valid)))


def _rows(search: Search, block_size: int | None) -> Iterator[tuple[int, _Row]]:
    finder = MatchFinder(search.gallery, protocol=search.protocol)
    codes = Identities.of(search.gallery).codes
    numbers = search.query.columns[ROWS].tolist()
    for start, stop in block_bounds(len(search.query), len(search.gallery), block_size):
        allowed, matches = finder.valid(search.query.block(start, stop))
        block = search.distances(start, stop)
        for offset, columns in enumerate(matches):
            if len(columns):
                kept = allowed[offset]
                distances = block[offset, kept].astype(np.float64)
                own = int(codes[columns[0]])
                position = start + offset
                yield position, _Row(distances, codes[kept], own, int(numbers[position]))


def _expectation(row: _Row, max_rank: int, known: _Known) -> tuple[NDArray[np.float64], float]:
    """Return the chance of each rank or a better one, (max_rank,), and the mean of 1 / rank."""
    sizes = np.bincount(row.codes)
    is_other = sizes > 0
    is_other[row.own] = False
    sizes = sizes[is_other]
    matches = row.distances[row.codes == row.own].tolist()
    chances, inverse = np.zeros(max_rank), 0.0
    for distance in matches:
        nearer, tied = (
            np.bincount(row.codes[side], minlength=len(is_other))[is_other]
            for side in (row.distances < distance, row.distances == distance)
        )
        sure = int(np.count_nonzero(nearer == sizes))
        is_open = ((nearer > 0) & (nearer < sizes)) | (tied > 0)
        shares = np.stack([nearer[is_open], tied[is_open]]) / sizes[is_open]
        number = _chances_before(shares, known)
        ranks = sure + 1 + np.arange(len(number))
        inverse += float((number / ranks).sum())
        seen = ranks <= max_rank
        chances[sure : sure + np.count_nonzero(seen)] += number[seen]
    return np.cumsum(chances) / len(matches), inverse / len(matches)


def _chances_before(shares: NDArray[np.float64], known: _Known) -> NDArray[np.float64]:
    """Return the chance that 0, 1, … F of F identities are before a match, (F + 1,).

    Args:
        shares: (2, F) chance that each is nearer, and that it is just as near.
        known: What was found before. With ties the sums are long, and a collapsed model has the
            same ones for all queries.
    """
    nearer, tied = shares
    num_tied = int(np.count_nonzero(tied))
    if not num_tied:
        return _poisson_binomial(nearer)
    pairs = shares[:, np.lexsort(shares)]
    key = pairs.shape[1], pairs.tobytes()
    if key not in known:
        places, weights = _nodes((num_tied + 2) // 2)
        known[key] = np.sum(
            [
                weight * _poisson_binomial(pairs[0] + place * pairs[1])
                for place, weight in zip(places.tolist(), weights.tolist(), strict=True)
            ],
            axis=0,
        )
    return known[key]


def _poisson_binomial(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the chance of each number of successes of F independent trials, (F + 1,).

    Source: Fernandez and Williams, Closed-form expression for the Poisson-binomial probability
    density function, IEEE Transactions on Aerospace and Electronic Systems 2010.
    """
    size = len(chances) + 1
    roots = np.exp(2j * np.pi * np.arange(size // 2 + 1) / size)
    transform = np.prod(1 + chances[:, None] * (roots - 1), axis=0)
    # Rounding leaves values of about -1e-17.
    return np.asarray(np.maximum(np.fft.irfft(transform.conj(), size), 0.0))


@lru_cache(maxsize=64)
def _nodes(number: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points and weights that integrate polynomials of degree 2 number - 1 from 0 to 1."""
    points, weights = np.polynomial.legendre.leggauss(number)
    return (points + 1) / 2, weights / 2


def _drawn(
    row: _Row, draws: Draws, max_rank: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the chance of each rank or a better one, (T, max_rank), and 1 / rank, (T,)."""
    # A query draws by its own row, so that blocks and skipped queries change nothing.
    generator = np.random.default_rng(np.random.SeedSequence([draws.seed, row.row]))
    order = np.argsort(row.codes, kind="stable")
    codes, distances = row.codes[order], row.distances[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    sizes = np.diff(starts, append=len(codes))
    own = int(np.searchsorted(codes[starts], row.own))
    chances, inverse = np.empty((draws.number, max_rank)), np.empty(draws.number)
    for number in range(draws.number):
        picked = distances[starts + generator.integers(0, sizes)]
        others = np.delete(picked, own)
        before = int(np.count_nonzero(others < picked[own]))
        tied = int(np.count_nonzero(others == picked[own]))
        chances[number] = np.clip((np.arange(1, max_rank + 1) - before) / (tied + 1), 0, 1)
        inverse[number] = (1.0 / np.arange(before + 1, before + tied + 2)).mean()
    return chances, inverse
