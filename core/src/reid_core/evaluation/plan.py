"""What a protocol makes of a test set before distances: rows, preparation, draws, entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from reid_core.errors import DataError, PluginError
from reid_core.evaluation.distances.blocks import MIN_BLOCK_SIZE, block_bounds
from reid_core.evaluation.embeddings import Embeddings, Labels
from reid_core.evaluation.protocols.base import Prepared, Protocol, Trial

#: The column of labels that numbers the rows of a test set: its queries, then its gallery.
ROWS = "rows"


@dataclass(frozen=True, eq=False)
class Entries:
    """Gallery images in groups; each group is one entry.

    Args:
        order: (G,) int64 images sorted by their entry; those of one entry in the order given.
        starts: (E,) int64 place in ``order`` where each entry begins.
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]

    @property
    def first(self) -> NDArray[np.int64]:
        """The first image of each entry, (E,) int64."""
        return self.order[self.starts]


def number_rows(query: Labels, gallery: Labels) -> tuple[Labels, Labels]:
    """Give labels the column ``rows``: 0 to Q - 1 for queries, Q to Q + G - 1 for the gallery.

    Args:
        query: Labels of Q queries.
        gallery: Labels of G gallery entries.

    Returns:
        Both with a column ``rows``, (Q,) and (G,) int64.
    """
    first = len(query)
    return (
        replace(query, columns={**query.columns, ROWS: np.arange(first)}),
        replace(gallery, columns={**gallery.columns, ROWS: np.arange(first, first + len(gallery))}),
    )


def pool_labels(query: Labels, gallery: Labels) -> Labels:
    """Put the labels of queries and gallery after one another, with the columns both have.

    Args:
        query: Labels of Q queries.
        gallery: Labels of G gallery entries.

    Returns:
        Q + G labels, queries first; those of one side alone where the other is empty.
    """
    if not len(query) or not len(gallery):
        return query if len(query) else gallery
    names = [name for name in query.columns if name in gallery.columns]
    return Labels(
        np.concatenate([query.pids, gallery.pids]),
        np.concatenate([query.camids, gallery.camids]),
        {name: np.concatenate([query.columns[name], gallery.columns[name]]) for name in names},
    )


def cut(query: Labels, gallery: Labels, trial: Trial) -> tuple[Labels, Labels]:
    """Return the labels of a trial's queries and gallery.

    Args:
        query: Labels of Q queries.
        gallery: Labels of G gallery entries.
        trial: Rows of the pool: 0 to Q - 1 are queries, Q to Q + G - 1 the gallery.
    """
    pool = pool_labels(query, gallery)
    return pool.take(trial.query), pool.take(trial.gallery)


def prepared(query: Embeddings, gallery: Embeddings, protocol: Protocol) -> Prepared:
    """Number the rows of a test set and let the protocol prepare it.

    Args:
        query: Q queries.
        gallery: G gallery entries.
        protocol: What is compared.

    Returns:
        What the protocol makes of it, with the column ``rows``.

    Raises:
        PluginError: The protocol answers with something else.
    """
    labels = number_rows(query.labels, gallery.labels)
    answer = protocol.prepare(
        *(
            replace(side, columns=numbered.columns)
            for side, numbered in zip((query, gallery), labels, strict=True)
        )
    )
    if not isinstance(answer, Prepared):
        raise PluginError(
            f"protocol {protocol.name}: prepare() returned a {type(answer).__name__}; expected a "
            "reid_core.evaluation.Prepared"
        )
    for side in (answer.query, answer.gallery):
        if ROWS not in side.columns:
            raise PluginError(
                f"protocol {protocol.name}: prepare() drops the column {ROWS}; keep all columns of "
                "the first row that each result stands for"
            )
    return answer


def prepared_labels(query: Labels, gallery: Labels, protocol: Protocol) -> Prepared:
    """Do :func:`prepared` where embeddings are not known: in their place stand zeros.

    Args:
        query: Labels of Q queries.
        gallery: Labels of G gallery entries.
        protocol: What is compared.
    """
    asked, searched = (
        Embeddings(torch.zeros(len(side), 1), side.pids, side.camids, side.columns)
        for side in (query, gallery)
    )
    return prepared(asked, searched, protocol)


def checked_trials(query: Labels, gallery: Labels, protocol: Protocol) -> Sequence[Trial] | None:
    """Ask a protocol for its trials and check them.

    Args:
        query: Labels of the queries, prepared.
        gallery: Labels of the gallery, prepared.
        protocol: What is compared.

    Returns:
        The trials; None is one of all queries and all of the gallery.

    Raises:
        PluginError: There are none, rows are outside of the set or named twice, a row would search
            itself, or a protocol that pools has no trials.
    """
    trials = protocol.trials(query, gallery)
    if trials is None:
        if protocol.pools:
            raise PluginError(
                f"protocol {protocol.name}: it says pools = True, and trials() returned None; "
                "expected at least one Trial that cuts the pool"
            )
        return None
    if len(trials) == 0:
        raise PluginError(f"protocol {protocol.name}: trials() is empty; expected at least one")
    num_rows = len(query) + len(gallery)
    for number, trial in enumerate(trials):
        where = f"protocol {protocol.name}: trial {number}"
        for side, rows in (("query", trial.query), ("gallery", trial.gallery)):
            _check_rows(f"{where}: {side}", rows, num_rows)
        _check_not_itself(where, *cut(query, gallery, trial), protocol)
    return trials


def entries_of(gallery: Labels, protocol: Protocol) -> Entries | None:
    """Group gallery images as the protocol says.

    Args:
        gallery: Labels of G images.
        protocol: What is compared.

    Returns:
        The groups; None where every image is an entry.

    Raises:
        DataError: Images of one entry differ in identity or camera.
        PluginError: The protocol's answer is not one integer an image.
    """
    codes = protocol.grouped(gallery)
    if codes is None:
        return None
    if codes.shape != (len(gallery),) or codes.dtype.kind not in "iu":
        raise PluginError(
            f"protocol {protocol.name}: grouped() returned {codes.shape} {codes.dtype}; expected "
            f"({len(gallery)},) integers, equal for the images of one entry"
        )
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=codes[order[:1]] - 1))
    entries = Entries(order, starts)
    check_uniform(gallery, entries, what=f"protocol {protocol.name}: gallery entry")
    return entries


def check_uniform(labels: Labels, entries: Entries, *, what: str) -> None:
    """Refuse groups that mix identities or cameras.

    Args:
        labels: Labels of the images.
        entries: The groups.
        what: What a group is, for the message.

    Raises:
        DataError: A group has two identities or cameras.
    """
    for field, values in (("identities", labels.pids), ("cameras", labels.camids)):
        sizes = np.diff(entries.starts, append=len(entries.order))
        mixed = values[entries.order] != np.repeat(values[entries.first], sizes)
        if not mixed.any():
            continue
        place = int(np.flatnonzero(mixed)[0])
        number = int(np.searchsorted(entries.starts, place, side="right")) - 1
        pair = [int(values[entries.first[number]]), int(values[entries.order[place]])]
        raise DataError(
            f"{what} {number} (its first image is row {int(entries.first[number])}) mixes "
            f"{field} {pair[0]} and {pair[1]}; expected one: check the column that groups images"
        )


def label_searches(
    query: Labels, gallery: Labels, protocol: Protocol
) -> Iterator[tuple[Labels, Labels]]:
    """Tell who searches whom, from labels alone.

    Args:
        query: Labels of the Q queries.
        gallery: Labels of the G gallery entries.
        protocol: What is compared.

    Yields:
        Queries and gallery entries of each trial, with a column ``rows``.

    Raises:
        DataError: The labels lack a column, or a group of images mixes identities.
        PluginError: The protocol answers wrongly.
    """
    ready = prepared_labels(query, gallery, protocol)
    query, gallery = ready.query.labels, ready.gallery.labels
    trials = checked_trials(query, gallery, protocol)
    pairs = [(query, gallery)] if trials is None else (cut(query, gallery, t) for t in trials)
    for asked, searched in pairs:
        entries = entries_of(searched, protocol)
        yield asked, searched if entries is None else searched.take(entries.first)


def _check_rows(where: str, rows: NDArray[np.int64], num_rows: int) -> None:
    if not isinstance(rows, np.ndarray) or rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise PluginError(f"{where} is no array of integers; expected the rows of the pool")
    if len(rows) and (rows.min() < 0 or rows.max() >= num_rows):
        raise PluginError(
            f"{where} names rows from {rows.min()} to {rows.max()}; expected 0 to {num_rows - 1}: "
            "queries first, then the gallery"
        )
    if len(np.unique(rows)) < len(rows):
        raise PluginError(f"{where} names a row twice; expected each once at most")


def _check_not_itself(where: str, query: Labels, gallery: Labels, protocol: Protocol) -> None:
    """Refuse a trial in which a row could find itself, at distance 0."""
    _, asked, searched = np.intersect1d(
        query.columns[ROWS], gallery.columns[ROWS], return_indices=True
    )
    for start, stop in block_bounds(len(asked), 0, MIN_BLOCK_SIZE):
        excluded = protocol.excluded(
            query.take(asked[start:stop]), gallery.take(searched[start:stop])
        )
        is_open = ~np.diagonal(excluded)
        if is_open.any():
            row = int(query.columns[ROWS][asked[start + int(np.argmax(is_open))]])
            raise PluginError(
                f"{where} has row {row} as query and in the gallery, and excluded() does not leave "
                "it out; expected no row to search itself: compare the column rows of both"
            )
