"""Batches out of worker processes: an error arrives as itself, tensors arrive pinned."""

from __future__ import annotations

import pickle
import traceback
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch.utils.data import DataLoader, Dataset

from reid_core.contracts import Batch
from reid_core.data.image_dataset import Collate, ImageDataset
from reid_core.data.keys import SampleKey
from reid_core.data.worker_signals import leave_signals_to_the_parent
from reid_core.errors import DataError, ReidError


@dataclass(frozen=True)
class Fetched:
    """A batch, or the reason why there is none.

    The loader of torch would add the worker's traceback to the message of an error; a user's
    mistake is told without one, so it travels as a value.
    """

    content: Batch | ReidError

    def batch(self) -> Batch:
        """Return the batch.

        Raises:
            ReidError: What went wrong in the worker.
        """
        if isinstance(self.content, ReidError):
            raise self.content
        return self.content

    def pin_memory(self) -> Fetched:
        """Return the same in pinned memory, from where a copy to the device does not wait."""
        if isinstance(self.content, ReidError):
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
        return Fetched(pinned)


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
        """Return the batch of the given samples, or the error that one of them met."""
        try:
            return Fetched(self._collate([self._dataset[key] for key in keys]))
        except ReidError as error:
            return Fetched(_portable(error))


def fetch(loader: DataLoader[Fetched]) -> Iterator[Batch]:
    """Yield the batches of a loader.

    Raises:
        ReidError: What went wrong in a worker.
    """
    try:
        yield from map(Fetched.batch, loader)
    except Exception as error:
        # Through the traceback the workers would be garbage in one cycle with their queues, whose
        # collector closes the queues first and then waits 5 s for each worker to read from them.
        traceback.clear_frames(error.__traceback__)
        raise


def make_loader(
    reader: BatchReader,
    keys: Iterable[list[SampleKey]],
    *,
    workers: int,
    is_persistent: bool,
    device: torch.device,
) -> DataLoader[Fetched]:
    """Make the loader that has ``keys`` read.

    Args:
        reader: Keys to batches; sent to the workers.
        keys: The keys of each batch.
        workers: Processes that decode; 0 decodes here.
        is_persistent: Whether workers stay for the next iteration.
        device: Where batches will go.
    """
    return DataLoader(
        reader,
        batch_sampler=keys,
        collate_fn=_as_it_is,
        num_workers=workers,
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
    # At exit torch stops its workers itself.
    weakref.finalize(owner, [loader].clear).atexit = False


def _as_it_is(fetched: object) -> object:
    return fetched


def _portable(error: ReidError) -> ReidError:
    """Return an error that can leave the worker: one that cannot be pickled would hang the run."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return DataError(f"{type(error).__name__}: {error}")
    return error
