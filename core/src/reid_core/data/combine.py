"""Training on all images of a data set, those of its test too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reid_core.data.manifest import Manifest, text_column
from reid_core.data.nobody import stands_for_nobody


def all_for_training(manifest: Manifest) -> Manifest:
    """Return all images of a set as its training split, those of query and gallery too.

    Identities are called ``train/5`` and ``test/5``: sets number those of training and of test
    on their own, so that one name may be two people. Junk and distractors, which stand for nobody,
    are left out.

    Args:
        manifest: The whole set.
    """
    is_trained = manifest.splits == "train"
    chosen = manifest.take(np.flatnonzero(is_trained | ~stands_for_nobody(manifest)))
    prefix = np.where(chosen.splits == "train", "train/", "test/")
    pids = text_column(map(str, chosen.pids.tolist()))
    return replace(
        chosen,
        pids=np.strings.add(text_column(prefix), pids),
        splits=np.full(len(chosen), "train"),
        expected={},
    )
