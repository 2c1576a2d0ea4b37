"""Data that is not what a checkpoint was made with, and the decision that this takes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from reid_core.engine.record.fingerprint import data_differences
from reid_core.engine.resuming.changes import Decision
from reid_core.errors import UsageError

if TYPE_CHECKING:
    from reid_core.engine.default_trainer import DefaultTrainer

log = logging.getLogger("reid_core")


def settle_data(
    trainer: DefaultTrainer,
    state: Mapping[str, object],
    *,
    decision: Decision | None,
    source: Path,
) -> None:
    """Compare the data of a checkpoint with that of the trainer, before its state is taken.

    Other identities are left to :func:`~reid_core.engine.resuming.restore.restore`, which
    refuses them.

    Args:
        trainer: The trainer that shall go on.
        state: The checkpoint; one of an earlier version says nothing about its data.
        decision: ``use`` goes on with the data as it is now.
        source: The checkpoint's file.

    Raises:
        UsageError: The data differs, and nobody has decided to use it.
    """
    if state["label_map"] != trainer.label_map.to_plain():
        return
    saved = cast("Mapping[str, object]", state.get("provenance") or {})
    changes = data_differences(saved.get("data"), trainer.facts.data)
    if not changes:
        return
    if decision != "use":
        lines = [f"  {one.path}: was {one.was!r}, is {one.now!r} now" for one in changes]
        raise UsageError(
            f"the data is not that which {source} was made with:\n"
            + "\n".join(lines)
            + "\nput the data back as it was, or go on with it as it is now: --changes use (in "
            'Python: resume_or_load(…, changes="use"))'
        )
    for one in changes:
        log.warning("resume: %s is %r now, was %r in the checkpoint", one.path, one.now, one.was)
