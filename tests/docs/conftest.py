"""What the tests of the documentation share: its pages, and a world small enough to run them in."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from reid_core.config import Config
from reid_core.config.load import config_from_plain
from reid_core.engine import DefaultTrainer
from reid_core.plugins import Registry, registries

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=fence)\s*$", re.M | re.S
)
_FILE_NAME = re.compile(r"#\s*([\w./-]+\.(?:yaml|toml|py))\s*\n")

#: Laid over every recipe that a page trains: seconds instead of minutes.
TINY: dict[str, object] = {
    "data.image_size": [64, 32],
    "data.workers": 0,
    "train.epochs": 1,
    "train.schedule": {"name": "constant"},
    "device": "cpu",
}
#: Likewise, where the data is drawn by the program: an epoch of 4 steps.
TINY_DATA: dict[str, object] = {
    "data.train": {"name": "synthetic", "identities": 4, "test_identities": 4}
    | {"cameras": 2, "shots": 4},
    "data.batch": {"sampler": "identity", "identities": 2, "instances": 4},
}


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Args:
        language: What stands behind the fence; ``python`` is run, ``py`` is a fragment.
        text: Its content.
        line: Line of its fence in the page, from 1.
        file: The file that it is, when its first line is a comment with a path.
    """

    language: str
    text: str
    line: int
    file: str | None


@dataclass(frozen=True)
class Page:
    """A Markdown file."""

    path: Path
    text: str

    def blocks(self, *languages: str) -> list[Block]:
        """Return the fenced blocks, of some languages or all."""
        found = []
        for match in _FENCE.finditer(self.text):
            name = _FILE_NAME.match(match["text"])
            line = self.text.count("\n", 0, match.start()) + 1
            language = match["language"].strip()
            found.append(Block(language, match["text"], line, name[1] if name else None))
        return [block for block in found if not languages or block.language in languages]

    @property
    def prose(self) -> str:
        """The text with fenced blocks blanked out, each character at its place."""
        return _FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), self.text)

    def tables(self) -> list[tuple[str, list[list[str]]]]:
        """Return each table as the nearest heading above it, and the cells of its rows."""
        heading, tables, rows = "", [], []
        for line in [*self.prose.splitlines(), ""]:
            if line.startswith("|"):
                cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
                rows.append([cell.strip() for cell in cells])
                continue
            if rows:
                tables.append((heading, rows[2:]))
                rows = []
            if line.startswith("#"):
                heading = line.lstrip("#").strip()
        return tables

    def section(self, heading: str) -> Page:
        """Return what stands under a heading, up to the next one of its level or above."""
        start = re.search(rf"^(#+) {re.escape(heading)}[ \t]*$", self.prose, re.M)
        assert start, f"{self.path.name} has no heading {heading!r}"
        end = re.search(rf"^#{{1,{len(start[1])}}} ", self.prose[start.end() :], re.M)
        stop = start.end() + end.start() if end else len(self.text)
        return Page(self.path, self.text[start.end() : stop])


@pytest.fixture(scope="session")
def page() -> Callable[[str], Page]:
    """Read a page by its path from the root of the repository."""

    def read(name: str) -> Page:
        path = ROOT / name
        return Page(path, path.read_text(encoding="utf-8"))

    return read


@pytest.fixture(scope="session")
def picture_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where synthetic pictures are kept: drawn once for all tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def tiny_world(tmp_path: Path, picture_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, in which ``DefaultTrainer`` makes every run a tiny one."""

    class TinyTrainer(DefaultTrainer):
        def __init__(self, config: Config) -> None:
            super().__init__(shrunk(config))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REID_CACHE", str(picture_cache))
    monkeypatch.setattr("reid_core.engine.DefaultTrainer", TinyTrainer)
    for registry in vars(registries).values():
        if isinstance(registry, Registry):
            # What a page registers is forgotten afterwards.
            monkeypatch.setattr(registry, "_local", dict(registry._local))
    return tmp_path


def shrunk(config: Config) -> Config:
    """Return the same run with one epoch of small images, and few of them where they are drawn."""
    settings = dict(TINY)
    if config.data.train[0].name == "synthetic":
        settings |= TINY_DATA
    texts = [f"{key}={json.dumps(value)}" for key, value in settings.items()]
    return config_from_plain(config.plain(), texts, source="the page")


@pytest.fixture(scope="session")
def install_sources() -> Callable[[Path], None]:
    """Make a project folder an installed package, for whoever has its ``src`` on the path."""

    def install(folder: Path) -> None:
        text = (folder / "pyproject.toml").read_text(encoding="utf-8")
        project = tomllib.loads(text)["project"]
        name = project["name"].replace("-", "_")
        info = folder / "src" / f"{name}-{project['version']}.dist-info"
        info.mkdir()
        requires = "".join(f"Requires-Dist: {one}\n" for one in project["dependencies"])
        head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        (info / "METADATA").write_text(head + requires)
        groups = [
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
            for group, entries in project["entry-points"].items()
        ]
        (info / "entry_points.txt").write_text("\n".join(groups))

    return install


@pytest.fixture(scope="session")
def python_in(picture_cache: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run Python in a folder, with its ``src`` on the path."""

    def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": str(folder / "src"),
                "REID_CACHE": str(picture_cache),
                "OMP_NUM_THREADS": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )

    return run
