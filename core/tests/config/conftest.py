from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from reid_core.config import Config, load_config
from reid_core.errors import ConfigError

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """A function that writes a file into the test's folder, which is the working directory."""
    monkeypatch.chdir(tmp_path)

    def to_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return Path(name)

    return to_file


@pytest.fixture
def load(write: Write) -> Callable[..., Config]:
    """A function from the text of a recipe, and overrides, to a config."""

    def from_text(text: str, *overrides: str) -> Config:
        return load_config(write("f.yaml", text), overrides)

    return from_text


@pytest.fixture
def problems(load: Callable[..., Config]) -> Callable[..., Sequence[str]]:
    """A function from the text of a wrong recipe, and overrides, to the lines of the message."""

    def from_text(text: str, *overrides: str) -> Sequence[str]:
        with pytest.raises(ConfigError) as raised:
            load(text, *overrides)
        return str(raised.value).splitlines()

    return from_text
