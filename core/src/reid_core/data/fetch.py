"""Batches out of worker processes: an error arrives as itself, tensors arrive pinned."""

from __future__ import annotations

import atexit
import traceback
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

from reid_core.contracts import Batch
from reid_core.data.broken_images import BrokenImage
from reid_core.data.image_dataset import Collate, ImageDataset, Sample
from reid_core.data.keys import SampleKey
from reid_core.data.worker_death import told_worker_deaths
from reid_core.data.worker_errors import Failure, at_row
from reid_core.data.worker_signals import leave_signals_to_the_parent


@dataclass(frozen=True)
class Fetched:
    """A batch, or the reason why there is none.

    The loader of torch would make the worker's traceback the message of an error, and lose an
    error that cannot be pickled; so it travels as a value.

    Args:
        content: The one or the other.
        broken: The images of the batch that could not be read.
    """

    content: Batch | Failure
    broken: tuple[BrokenImage, ...] = ()

    def batch(self) -> Batch:
        """Return the batch.

        Raises:
            Exception: What went wrong in the worker.
        """
        if isinstance(self.content, Failure):
            raise self.content.error()
        return self.content

    def pin_memory(self) -> Fetched:
        """Return the same in pinned memory, from where a copy to the device does not wait."""
        if isinstance(self.content, Failure):
            return self
        batch = self.content
        pinned = replace(
            batch,
            images=batch.images.pin_memory(),
            pids=batch.pids.pin_memory(),
            camids=batch.camids.pin_memory(),
            index=batch.index.pin_memory(),
            columns={name: column.pin_memory() for name, column in batch.columns.items()},
        )
        return replace(self, content=pinned)


class BatchReader(Dataset[Fetched]):
    """Reads whole batches.

    Args:
        dataset: Decoded images by row.
        collate: Samples to a batch.
    """

    def __init__(self, dataset: ImageDataset, collate: Collate) -> None:
        self._dataset = dataset
        self._collate = collate

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitems__(self, keys: Sequence[SampleKey]) -> Fetched:
        """Return the batch of the given samples or, in a worker, the error that one of them met."""
        try:
            samples = self._samples(keys)
            return Fetched(self._collate(samples), _broken(samples))
        except Exception as error:
            if get_worker_info() is None:
                raise
            return Fetched(Failure.of(error))

    def _samples(self, keys: Sequence[SampleKey]) -> list[Sample]:
        # As torch's own loader does: a data set that can read several at once is asked to.
        read_all = getattr(self._dataset, "__getitems__", None)
        if read_all is not None:
            samples: list[Sample] = read_all(keys)
            return samples
        return [at_row(key.row, self._dataset.__getitem__, key) for key in keys]


def _broken(samples: Sequence[Sample]) -> tuple[BrokenImage, ...]:
    return tuple(
        sample.broken
        for sample in samples
        if isinstance(sample, Sample) and sample.broken is not None
    )


def fetch(
    loader: DataLoader[Fetched], note: Callable[[Iterable[BrokenImage]], object] | None = None
) -> Iterator[Batch]:
    """Yield the batches of a loader.

    Args:
        loader: Made by :func:`make_loader`.
        note: Told the broken images of a batch, before the batch is given.

    Raises:
        TrainingError: A worker died.
        Exception: What went wrong in a worker, with the worker's traceback as its cause.
    """
    try:
        with told_worker_deaths():
            for fetched in _batches_of(loader):
                if note is not None and fetched.broken:
                    note(fetched.broken)
                yield fetched.batch()
    except Exception as error:
        # Through the traceback the workers would be garbage in one cycle with their queues, whose
        # collector closes the queues first and then waits 5 s for each worker to read from them.
        traceback.clear_frames(error.__traceback__)
        raise


def _batches_of(loader: DataLoader[Fetched]) -> Iterator[Fetched]:
    batches = iter(loader)
    if loader.num_workers > 0:
        # Anew for each iteration: what is registered last runs first, also before torch waits 5 s
        # for each worker that fills pinned memory.
        stop = _StopWorkers(weakref.ref(batches))
        atexit.unregister(stop)
        atexit.register(stop)
        weakref.finalize(batches, atexit.unregister, stop).atexit = False
    return batches


@dataclass(frozen=True)
class _StopWorkers:
    """Stops the workers of an iterator that is still there when the program ends.

    They would be sent a SIGTERM, and take it for one that the training process goes on after.
    """

    batches: weakref.ref[Iterator[Fetched]]

    def __call__(self) -> None:
        # What torch calls when the iterator is deleted; it has no public name.
        stop = getattr(self.batches(), "_shutdown_workers", None)
        if stop is not None:
            stop()


def make_loader(
    reader: BatchReader,
    keys: Iterable[list[SampleKey]],
    *,
    workers: int,
    is_persistent: bool,
    device: torch.device,
    start_method: str | None = None,
) -> DataLoader[Fetched]:
    """Make the loader that has ``keys`` read.

    Args:
        reader: Keys to batches; sent to the workers.
        keys: The keys of each batch.
        workers: Processes that decode; 0 decodes here.
        is_persistent: Whether workers stay for the next iteration.
        device: Where batches will go.
        start_method: How workers are started: ``fork``, ``spawn`` or ``forkserver``; None is
            Python's default.
    """
    return DataLoader(
        reader,
        batch_sampler=keys,
        collate_fn=_as_it_is,
        num_workers=workers,
        multiprocessing_context=start_method if workers > 0 else None,
        worker_init_fn=leave_signals_to_the_parent,
        persistent_workers=is_persistent and workers > 0,
        pin_memory=device.type == "cuda",
        # Its own: each iteration draws a seed, which from torch's global generator would shift the
        # dropout of a run that was resumed or evaluated at another time.
        generator=torch.Generator(),
    )


def keep_until_dead(owner: object, loader: DataLoader[Fetched]) -> None:
    """Keep a loader whole until ``owner`` is gone.

    An owner may die in a cycle. Its persistent workers must not be collected in the same pass: see
    :func:`fetch`.
    """
    # At exit the workers are stopped anyway.
    weakref.finalize(owner, [loader].clear).atexit = False


def _as_it_is(fetched: object) -> object:
    return fetched
