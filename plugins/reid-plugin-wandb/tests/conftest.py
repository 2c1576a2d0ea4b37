from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import wandb
from wandb.proto.wandb_internal_pb2 import Record

_BLOCK = 32768
_HEADER = struct.Struct("<IHB")  # checksum, length, kind: 1 whole, 2 first, 3 middle, 4 last


@pytest.fixture(autouse=True)
def _nobody(tmp_path, monkeypatch):
    """Keep the settings of whoever runs the tests out of them."""
    for name in ("API_KEY", "PROJECT", "ENTITY", "RUN_ID", "DIR"):
        monkeypatch.delenv(f"WANDB_{name}", raising=False)
    # The service that an earlier test has started would outlive a process that is to be killed.
    monkeypatch.delenv("WANDB_SERVICE", raising=False)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    for name in ("CONFIG", "CACHE", "DATA", "ARTIFACT"):
        monkeypatch.setenv(f"WANDB_{name}_DIR", str(tmp_path / "wandb_home"))
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))


@dataclass
class Kept:
    """What wandb kept of a run on the disk."""

    id: str = ""
    project: str = ""
    name: str = ""
    group: str = ""
    tags: list[str] = field(default_factory=list)
    config: dict[str, object] = field(default_factory=dict)
    rows: dict[int, dict[str, object]] = field(default_factory=dict)
    summary: dict[str, object] = field(default_factory=dict)
    artifacts: dict[str, list[str]] = field(default_factory=dict)
    exit_code: int | None = None
    text: str = ""


@pytest.fixture
def kept():
    """Return what reads the records of a run folder, oldest first."""

    def read(folder: Path) -> list[Kept]:
        # As at the end of the process: its service may still be writing.
        wandb.teardown()
        paths = sorted((folder / "wandb").glob("offline-run-*/*.wandb"))
        return [_read(path) for path in paths]

    return read


def _read(path: Path) -> Kept:
    run = Kept(text=path.read_bytes().decode("latin-1"))
    for record in _records(path.read_bytes()):
        kind = record.WhichOneof("record_type")
        if kind == "run":
            run.id, run.project = record.run.run_id, record.run.project
            run.name, run.group = record.run.display_name, record.run.run_group
            run.tags, run.config = list(record.run.tags), _values(record.run.config.update)
        elif kind == "history":
            row = _values(record.history.item)
            run.rows[record.history.step.num] = {k: v for k, v in row.items() if k[0] != "_"}
        elif kind == "summary":
            run.summary |= _values(record.summary.update)
        elif kind == "artifact":
            files = [entry.path for entry in record.artifact.manifest.contents]
            run.artifacts[f"{record.artifact.type} {record.artifact.name}"] = files
        elif kind == "exit":
            run.exit_code = record.exit.exit_code
    return run


def _records(data: bytes):
    """Yield the records of a file: blocks as of LevelDB's log, with protocol buffers in them."""
    parts, at = [], 7  # behind the file's own header
    while at < len(data):
        left = _BLOCK - at % _BLOCK
        if left < _HEADER.size:
            at += left
            continue
        _, length, kind = _HEADER.unpack_from(data, at)
        at += _HEADER.size
        parts.append(data[at : at + length])
        at += length
        if kind in (1, 4):
            yield Record.FromString(b"".join(parts))
            parts = []


def _values(items):
    return {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in items}
