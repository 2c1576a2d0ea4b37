from __future__ import annotations

import zipfile

import pytest
import torch

from reid_core.checkpoint.folder import CheckpointFolder, load_checkpoint, saved_entry
from reid_core.errors import CheckpointError


def state(step):
    return {"step": step, "x": torch.arange(2000.0) + step, "config": {"seed": step}}


@pytest.fixture
def folder(tmp_path):
    made = CheckpointFolder(tmp_path / "checkpoints", keep=3)
    for step in (1, 2, 3):
        made.save(state(step), step)
    return made


def flip_a_byte_of_the_tensor(path):
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        entry = next(one for one in archive.infolist() if one.filename.endswith("/data/0"))
    content[entry.header_offset + 4000] ^= 1
    path.write_bytes(content)


DAMAGES = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "empty": lambda path: path.write_bytes(b""),
    "flipped": flip_a_byte_of_the_tensor,
    "other": lambda path: path.write_bytes(b"not a checkpoint at all"),
    "list": lambda path: torch.save([1, 2], path),
    "format": lambda path: torch.save({"format": 99}, path),
}
TOLD = {
    "truncated": "is damaged, or no file that torch wrote",
    "empty": r"is empty \(0 bytes\)",
    "flipped": r"is damaged: .*data/0",
    "other": r"is damaged, or no file that torch wrote \(it begins with b'not a checkpoint",
    "list": "is no training checkpoint of this project",
    "format": "has checkpoint format 99, this version reads 1",
}


# B102
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_named_and_the_one_before_it_is_taken(folder, damage, caplog):
    newest = folder.paths()[0]
    DAMAGES[damage](newest)
    with pytest.raises(CheckpointError, match=TOLD[damage]):
        load_checkpoint(newest)
    path, loaded = folder.load_latest()
    assert path.name == "step_00000002.pt"
    assert torch.equal(loaded["x"], state(2)["x"])
    assert f"{newest}" in caplog.text
    assert "trying the one before it" in caplog.text


def test_torch_alone_would_not_see_a_flipped_byte(folder):
    newest = folder.paths()[0]
    flip_a_byte_of_the_tensor(newest)
    assert not torch.equal(torch.load(newest, weights_only=True)["x"], state(3)["x"])


def test_one_entry_is_read_alone_and_no_checkpoint_gives_none(folder, tmp_path):
    assert saved_entry(folder.paths()[0], "config") == {"seed": 3}
    assert saved_entry(folder.paths()[0], "nothing") is None
    assert saved_entry(tmp_path / "missing.pt", "config") is None
    (tmp_path / "bad.pt").write_bytes(b"bad")
    assert saved_entry(tmp_path / "bad.pt", "config") is None


def test_the_best_and_the_newest_are_two_files_of_the_same_bytes(folder):
    best = folder.save_best(state(4))
    newest = folder.save(state(5), 4, same_as=best)
    assert newest.read_bytes() == best.read_bytes()
    assert newest.stat().st_ino != best.stat().st_ino, "damage to one is not damage to both"
    assert [path.name[-5:] for path in folder.paths()] == ["04.pt", "03.pt", "02.pt"]
