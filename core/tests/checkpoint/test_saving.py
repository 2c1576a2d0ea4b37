"""A kill at any moment of a save leaves files that agree with each other."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
import torch

from reid_core.checkpoint.artifact import read_info
from reid_core.checkpoint.folder import CheckpointFolder
from reid_core.checkpoint.saving import Saving
from reid_core.errors import CheckpointError


def saving(tmp_path, step, *, is_regular=True, is_best=True):
    return Saving(
        folder=CheckpointFolder(tmp_path / "checkpoints"),
        weights=tmp_path / "weights",
        rows=tmp_path / "metrics.jsonl",
        step=step,
        state={"model": {"w": torch.full((3,), step)}, "eval_model": None, "step": step},
        info={"step": step},
        is_regular=is_regular,
        is_best=is_best,
    )


def step_in(path):
    return torch.load(path, weights_only=True)["step"] if path.is_file() else None


def names(tmp_path):
    return sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file())


def test_what_is_asked_for_is_written(tmp_path):
    assert saving(tmp_path, 1, is_regular=False).write().path is None
    assert names(tmp_path) == ["checkpoints/best.pt", "weights/best.safetensors"]
    saved = saving(tmp_path, 2, is_best=False).write()
    assert (saved.step, saved.path.name, saved.error) == (2, "step_00000002.pt", None)
    assert step_in(tmp_path / "checkpoints" / "best.pt") == 1
    assert read_info(tmp_path / "weights" / "last.safetensors") == {"step": 2}


def test_the_rows_are_on_the_disk_before_what_speaks_of_their_step(tmp_path, monkeypatch):
    rows, synced = tmp_path / "metrics.jsonl", []
    rows.write_text("{}\n")
    real = os.fsync

    def fsync(handle):
        synced.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    saving(tmp_path, 1).write()
    assert synced[0] == "metrics.jsonl"
    assert any("step_00000001.pt" in name for name in synced[1:])


def test_rows_that_cannot_reach_the_disk_are_no_checkpoint(tmp_path, monkeypatch):
    rows = tmp_path / "metrics.jsonl"
    rows.write_text("{}\n")

    def fsync(handle):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fsync)
    saved = saving(tmp_path, 1).write()
    assert saved.path is None
    assert str(saved.error) == f"{rows} cannot be written: [Errno 5] Input/output error"
    assert names(tmp_path) == ["metrics.jsonl"]


@pytest.mark.parametrize("writes", [0, 1, 2, 3])
def test_a_numbered_checkpoint_is_never_ahead_of_the_best_one(tmp_path, monkeypatch, writes):
    from reid_core.checkpoint import atomic

    saving(tmp_path, 1).write()
    done, replace = [], atomic.Path.replace

    def killed(path, target):
        if len(done) == writes:
            raise KeyboardInterrupt
        done.append(target)
        return replace(path, target)

    monkeypatch.setattr(atomic.Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        saving(tmp_path, 2).write()
    folder = CheckpointFolder(tmp_path / "checkpoints")
    assert folder.load_latest()[1]["step"] == 1
    assert step_in(tmp_path / "checkpoints" / "best.pt") in (1, 2)
    assert len(done) == writes, "there are four files"


def test_a_failure_is_told_with_the_file(tmp_path, monkeypatch):
    def full(path, write):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("reid_core.checkpoint.folder.write_atomically", full)
    saved = saving(tmp_path, 1, is_best=False).write()
    assert isinstance(saved.error, CheckpointError)
    path = tmp_path / "checkpoints" / "step_00000001.pt"
    assert str(saved.error).startswith(f"checkpoint {path} cannot be written: No space")
