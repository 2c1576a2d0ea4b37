"""The data of a run, looked at by the doctor before the first step."""

from __future__ import annotations

from collections.abc import Sequence

from reid_core.config import Config
from reid_core.data.collection import collection_paused
from reid_core.data.manifest import Manifest
from reid_core.data.query_gallery import TestSet
from reid_core.doctor.quick import check_before_run
from reid_core.engine.evaluation.parts import build_protocol


def check_data(config: Config, train: Sequence[Manifest], tests: Sequence[TestSet]) -> None:
    """Log what labels and files tell about the data of a run.

    Args:
        config: Protocol, and what is done about broken images.
        train: The rows that are trained on.
        tests: The test sets.

    Raises:
        DataError: Something would stop the run, or leave nothing to measure.
    """
    protocol = build_protocol(config)
    with collection_paused():
        check_before_run(
            [*train, *(test.rows for test in tests)],
            uses_cameras=bool(tests) and protocol.needs_cameras,
            pools=protocol.pools,
            skips_broken=config.data.broken_images == "skip",
        )
