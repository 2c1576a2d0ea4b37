"""The names that numbers of a run have in every tracker."""

from __future__ import annotations

from collections.abc import Collection


def tag_of(name: str, test_sets: Collection[str]) -> str:
    """Return the tag of a logged number.

    ``train/loss``, ``train/loss_triplet``, ``lr``, ``time/step``, and ``val/<test set>/mAP`` for
    evaluations.

    Args:
        name: As the hook ``on_log`` is told.
        test_sets: Names of the sets that are evaluated.
    """
    if name == "lr" or name.startswith("time/"):
        return name
    if name.rpartition("/")[0] in test_sets:
        return f"val/{name}"
    return f"train/{name.replace('/', '_')}"
