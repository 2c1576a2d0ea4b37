from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from reid_core.checkpoint.atomic import (
    overwrite,
    remove_leftovers,
    sync_file,
    write_atomically,
    write_text_atomically,
)


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(b"old")

    def half(file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left") as caught:
        write_atomically(path, half)
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.bin"]


def test_a_small_file_is_written_over_where_it_lies(tmp_path):
    path = tmp_path / "status.json"
    path.write_bytes(b"a longer text than the next one")
    node = path.stat().st_ino
    overwrite(path, b"short")
    assert (path.read_bytes(), path.stat().st_ino) == (b"short", node)
    with pytest.raises(FileNotFoundError):
        overwrite(tmp_path / "other.json", b"x")


def test_a_file_that_is_not_there_needs_no_disk(tmp_path):
    sync_file(tmp_path / "metrics.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_the_file_has_the_rights_of_any_new_file(tmp_path):
    write_text_atomically(tmp_path / "a.txt", "ä")
    (tmp_path / "b.txt").write_text("x")
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "ä"
    modes = {p.stat().st_mode for p in tmp_path.iterdir()}
    assert len(modes) == 1


KILL = """
import sys, torch
from pathlib import Path
from reid_core.checkpoint.folder import CheckpointFolder
folder = CheckpointFolder(Path(sys.argv[1]), keep=2)
step = 0
while True:
    step += 1
    folder.save({"x": torch.full((400_000,), float(step)), "step": step}, step)
    print(step, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
def test_kill_9_during_a_save_always_leaves_a_whole_checkpoint(tmp_path):
    from reid_core.checkpoint.folder import CheckpointFolder

    for attempt in range(3):
        folder = tmp_path / str(attempt)
        process = subprocess.Popen(
            [sys.executable, "-c", KILL, str(folder)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.01 * attempt)  # another moment of the save each time
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = CheckpointFolder(folder).load_latest()
        assert found is not None
        path, state = found
        assert path.name == f"step_{state['step']:08d}.pt"
        assert float(state["x"].min()) == state["step"]


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path):
    for name in (".best.pt.0a1b2c3d.tmp", ".mine.tmp", "x.0a1b2c3d.tmp", "step.pt"):
        (tmp_path / name).write_bytes(b"x")
    removed = remove_leftovers(tmp_path)
    assert [path.name for path in removed] == [".best.pt.0a1b2c3d.tmp"]
    assert len(list(tmp_path.iterdir())) == 3
    assert remove_leftovers(tmp_path / "nowhere") == []


def test_two_threads_that_write_leave_the_umask_alone(tmp_path):
    before = os.umask(0o027)
    try:
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda n: write_text_atomically(tmp_path / f"{n}", "x"), range(50)))
        now = os.umask(0o027)
    finally:
        os.umask(before)
    assert now == 0o027
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o640}
