"""Errors of workers arrive as themselves; tensors arrive pinned."""

import gc
import multiprocessing
import os
import subprocess
import sys
import traceback

import pytest
import torch

from reid_core.contracts import Batch
from reid_core.data.fetch import BatchReader, Fetched, fetch, make_loader
from reid_core.data.image_dataset import Collate, ImageDataset
from reid_core.data.image_reader import BrokenImageError
from reid_core.data.keys import RowKeys
from reid_core.data.worker_errors import Failure
from reid_core.errors import DataError, ReidError, TrainingError


class TwoPartError(ReidError):
    """Cannot be unpickled: what it keeps does not rebuild it."""

    def __init__(self, what, where):
        super().__init__(f"{what} in {where}")


class BrokenData:
    """A data set in which row 1 cannot be read."""

    def __init__(self, error):
        self.error = error

    def __len__(self):
        return 4

    def __getitem__(self, key):
        if key.row == 1:
            raise self.error
        return key.row


def keep(samples):
    return samples


def loader_of(error, workers, *, is_persistent=False):
    return make_loader(
        BatchReader(BrokenData(error), keep),
        RowKeys(4, 1),
        workers=workers,
        is_persistent=is_persistent,
        device=torch.device("cpu"),
    )


def batch():
    ids = torch.arange(2)
    return Batch(torch.zeros(2, 3, 4, 4), ids, ids + 1, ids + 2, {"views": ids + 3})


@pytest.mark.timeout(60)
@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_of_ours_arrives_without_a_traceback_in_its_message(workers):
    batches = fetch(loader_of(DataError("row 1 is bad; repair it"), workers))
    assert next(batches) == [0]
    with pytest.raises(DataError) as caught:
        next(batches)
    assert str(caught.value) == "row 1 is bad; repair it"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_whose_constructor_cannot_be_called_again_arrives_all_the_same(workers):
    with pytest.raises(TwoPartError) as caught:
        list(fetch(loader_of(TwoPartError("paint", "a bucket"), workers)))
    assert str(caught.value) == "paint in a bucket"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("workers", [0, 2])
def test_any_other_error_keeps_its_type(workers):
    with pytest.raises(ZeroDivisionError) as caught:
        list(fetch(loader_of(ZeroDivisionError("a defect"), workers)))
    assert str(caught.value) == "a defect"
    trace = "".join(traceback.format_exception(caught.value))
    assert "raise self.error" in trace, "the line in the worker"


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("workers", "place"), [(0, "row 1"), (1, "row 1, worker 0")])
def test_an_error_names_row_and_worker(workers, place):
    with pytest.raises(DataError) as caught:
        list(fetch(loader_of(DataError("bad"), workers)))
    assert caught.value.__notes__ == [f"raised while reading {place}"]


class Dies(BrokenData):
    """Ends the process that reads row 1, as the system does when memory has run out."""

    def __getitem__(self, key):
        if key.row == 1:
            os._exit(3)
        return key.row


@pytest.mark.timeout(60)
def test_a_worker_that_dies_ends_the_run_with_what_to_do(capfd):
    loader = make_loader(
        BatchReader(Dies(None), keep),
        RowKeys(4, 1),
        workers=1,
        is_persistent=False,
        device=torch.device("cpu"),
    )
    with pytest.raises(TrainingError, match=r"a worker process died: .*lower data\.workers"):
        list(fetch(loader))


@pytest.mark.parametrize("error", [DataError("bad"), ZeroDivisionError("a defect")])
@pytest.mark.parametrize("is_persistent", [True, False])
def test_workers_end_with_the_error_and_not_with_the_garbage_collector(error, is_persistent):
    others = set(multiprocessing.active_children())
    gc.disable()
    try:
        loader = loader_of(error, 1, is_persistent=is_persistent)
        batches = fetch(loader)
        next(batches)
        (worker,) = set(multiprocessing.active_children()) - others
        with pytest.raises(type(error)):
            next(batches)
        del loader, batches
        assert worker.exitcode == 0
    finally:
        gc.enable()


ENDS = """
import torch
from reid_core.data import worker_signals
from reid_core.data.fetch import BatchReader, fetch, make_loader
from reid_core.data.keys import RowKeys

worker_signals.GRACE_SECONDS = 3600

class Rows:
    def __getitem__(self, key):
        return key.row

def loader(is_persistent):
    cpu = torch.device("cpu")
    reader = BatchReader(Rows(), list)
    return make_loader(
        reader, RowKeys(4, 1), workers=2, is_persistent=is_persistent, device=cpu,
        start_method="fork",
    )

done = loader(True)
for _ in range(2):
    print(len(list(fetch(done))))
left_midway = [fetch(loader(is_persistent)) for is_persistent in (True, False)]
print([next(batches) for batches in left_midway], flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="fork")
def test_a_program_ends_while_its_loaders_are_still_there():
    done = subprocess.run(
        [sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n") == ["4", "4", "[[0], [0]]", ""]
    assert done.stderr == ""


@pytest.mark.timeout(60)
@pytest.mark.parametrize("workers", [0, 2])
def test_a_broken_image_names_path_row_worker_and_option(workers, make_images):
    manifest = make_images([0, 0, 1, 1])
    broken = manifest.root / manifest.paths[2]
    broken.write_bytes(b"")
    reader = BatchReader(
        ImageDataset(manifest, image_size=(20, 12)), Collate(manifest.pids, manifest.camids)
    )
    cpu = torch.device("cpu")
    keys = RowKeys(4, 1)
    loader = make_loader(reader, keys, workers=workers, is_persistent=False, device=cpu)
    with pytest.raises(BrokenImageError) as caught:
        list(fetch(loader))
    assert not getattr(caught.value, "__notes__", ())
    where = "row 2, worker 0" if workers else "row 2"
    assert str(caught.value) == (
        f"image {broken} is empty (0 bytes) ({where}); repair or remove the file, or set "
        "data.broken_images=skip to go on without it; 'reid-train --check' lists every broken file"
    )


def test_all_tensors_are_pinned_and_nothing_else_changes(monkeypatch):
    pinned = []

    def pin(tensor):
        pinned.append(tensor.data_ptr())
        return tensor.clone()

    monkeypatch.setattr(torch.Tensor, "pin_memory", pin)
    plain = batch()
    copy = Fetched(plain).pin_memory().batch()
    assert len(set(pinned)) == 5
    for name in ("images", "pids", "camids", "index"):
        assert torch.equal(getattr(copy, name), getattr(plain, name))
    assert torch.equal(copy.columns["views"], plain.columns["views"])


def test_an_error_needs_no_pinning():
    failed = Fetched(Failure.of(DataError("bad")))
    assert failed.pin_memory() is failed


@pytest.mark.parametrize(("kind", "is_pinned"), [("cpu", False), ("cuda", True)])
def test_memory_is_pinned_for_cuda_only(kind, is_pinned):
    loader = make_loader(
        BatchReader(BrokenData(None), keep),
        RowKeys(4, 1),
        workers=0,
        is_persistent=True,
        device=torch.device(kind),
    )
    assert loader.pin_memory is is_pinned


def test_the_length_is_that_of_the_data():
    assert len(BatchReader(BrokenData(None), keep)) == 4
