"""A small part of a test set that can be evaluated, for trying an evaluation out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reid_core.config import Config
from reid_core.data.nobody import stands_for_nobody
from reid_core.data.query_gallery import TestSet
from reid_core.distributed.processes import Processes
from reid_core.engine.evaluation.evaluator import Evaluator
from reid_core.errors import DataError

#: Images of an identity that are taken as queries, and from the gallery.
_QUERIES, _GALLERY = 2, 6


@dataclass(frozen=True)
class SmallSet:
    """A part of a test set.

    Args:
        evaluator: Evaluates the part.
        num_images: Images of the part.
        num_whole: Images of the whole set.
    """

    evaluator: Evaluator
    num_images: int
    num_whole: int


def small_set(whole: Evaluator, config: Config, processes: Processes) -> SmallSet:
    """Take about one batch of query and gallery images, among them a query with a valid match.

    Args:
        whole: The evaluator of the whole set.
        config: Batch size and protocol.
        processes: Those that share the images.
    """
    test, size = whole.test_set, config.evaluate.batch_size
    while True:
        part = _first_images(test, size)
        try:
            evaluator = Evaluator(part, config, whole.device, processes)
        except DataError:
            # What is a match only the protocol knows; of the whole set it is known to find some.
            if len(part.rows) == len(test.rows):
                raise
            size *= 2
        else:
            return SmallSet(evaluator, len(part.rows), len(test.rows))


def _first_images(test: TestSet, size: int) -> TestSet:
    """Take images of identity after identity until there are ``size``; all where there are less."""
    rows, is_query = test.rows, np.arange(len(test.rows)) < test.num_query
    is_pool = test.num_query == len(rows)
    is_known = ~stands_for_nobody(rows)
    chosen: list[NDArray[np.intp]] = []
    count = 0
    first_of = np.unique(rows.pid_codes[is_query & is_known], return_index=True)[0]
    for pid in first_of.tolist():
        own = np.flatnonzero(rows.pid_codes == pid)
        queries, gallery = own[is_query[own]], own[~is_query[own]]
        if (len(queries) < 2) if is_pool else (len(gallery) == 0):
            continue
        number = _QUERIES + _GALLERY if is_pool else _QUERIES
        kept = [_of_all_cameras(test, queries, number), _of_all_cameras(test, gallery, _GALLERY)]
        chosen += kept
        count += sum(map(len, kept))
        if count >= size:
            break
    if count < size:
        return test
    order = np.sort(np.concatenate(chosen))
    return replace(test, rows=rows.take(order), num_query=int((order < test.num_query).sum()))


def _of_all_cameras(test: TestSet, rows: NDArray[np.intp], number: int) -> NDArray[np.intp]:
    """Take rows, one of each camera before the second of any."""
    if not len(rows):
        return rows
    firsts = np.unique(test.rows.camid_codes[rows], return_index=True)[1]
    rest = np.setdiff1d(np.arange(len(rows)), firsts)
    chosen: NDArray[np.intp] = rows[np.concatenate([firsts, rest])[:number]]
    return chosen
