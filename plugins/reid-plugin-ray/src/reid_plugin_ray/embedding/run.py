"""The parts of a data set, spread over workers by Ray Data."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from reid_core import errors
from reid_core.errors import ReidError
from reid_plugin_ray.embedding.worker import Embedder, EmbedJob

if TYPE_CHECKING:
    from reid_core.data.manifest import Manifest

log = logging.getLogger("reid_plugin_ray")

#: More tasks than this are no better balanced.
_MAX_BLOCKS = 2000


def embed_parts(
    job: EmbedJob,
    manifest: Manifest,
    rows: NDArray[np.int64],
    parts: Sequence[int],
    *,
    workers: int,
    cpus: float,
    gpus: float,
) -> None:
    """Embed parts and write their files.

    Needs a connection to Ray.

    Args:
        job: What all workers have in common.
        manifest: The images.
        rows: (N,) their rows in the whole data set.
        parts: Numbers of the parts to do, at least one.
        workers: Processes that have the model.
        cpus: CPUs a worker.
        gpus: GPUs a worker.

    Raises:
        ReidError: What a worker could not do; the files of other parts stay.
    """
    import ray

    with _quiet():
        numbers = ray.data.from_items(
            [{"part": part} for part in parts], override_num_blocks=min(len(parts), _MAX_BLOCKS)
        )
        done = numbers.map_batches(
            Embedder,
            fn_constructor_kwargs={"job": job, "manifest": manifest, "rows": rows},
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=min(workers, len(parts))),
            num_cpus=cpus,
            num_gpus=gpus,
        )
        for count, told in enumerate(done.iter_rows(), 1):
            if told["error"]:
                raise _error_of(str(told["error_kind"]), str(told["error"]))
            path = job.plan.path(Path(job.output), int(told["part"]))
            log.info("part %d of %d: %s", count, len(parts), path)


def _error_of(kind: str, text: str) -> ReidError:
    found = getattr(errors, kind, ReidError)
    return cast("ReidError", found(text))


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave the progress to the log lines of this package."""
    from ray.data import DataContext

    context, logger = DataContext.get_current(), logging.getLogger("ray.data")
    before = context.enable_progress_bars, logger.level
    context.enable_progress_bars = False
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        context.enable_progress_bars = before[0]
        logger.setLevel(before[1])
