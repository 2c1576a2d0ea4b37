from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from reid_core.errors import UsageError
from reid_core.inspection.archive import read_archive

METADATA = "Metadata-Version: 2.1\nName: reid-plugin-x\nVersion: 0.3\nRequires-Dist: torch\n"
ENTRIES = "[reid_core.heads]\nmine = reid_plugin_x.part:Mine\n"
PYPROJECT = (
    '[project]\nname = "reid-plugin-x"\n[project.entry-points."reid_core.heads"]\n'
    'mine = "reid_plugin_x.part:Mine"\n'
)


def wheel(folder: Path, files: Mapping[str, str]) -> Path:
    path = folder / "reid_plugin_x-0.3-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def sdist(folder: Path, files: Mapping[str, str]) -> Path:
    path = folder / "reid_plugin_x-0.3.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"reid_plugin_x-0.3/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


def test_a_wheel_is_read(tmp_path: Path) -> None:
    info = "reid_plugin_x-0.3.dist-info"
    path = wheel(
        tmp_path,
        {
            "reid_plugin_x/part.py": "",
            f"{info}/METADATA": METADATA,
            f"{info}/entry_points.txt": ENTRIES,
        },
    )
    archive = read_archive(path)
    assert (archive.declared.dist, archive.declared.version) == ("reid-plugin-x", "0.3")
    assert archive.declared.requires == ("torch",)
    assert [entry.value for entry in archive.declared.entries] == ["reid_plugin_x.part:Mine"]
    assert "reid_plugin_x/part.py" in archive.files


def test_a_wheel_without_entry_points_has_none(tmp_path: Path) -> None:
    archive = read_archive(wheel(tmp_path, {"x-0.3.dist-info/METADATA": METADATA}))
    assert archive.declared.entries == ()


@pytest.mark.parametrize(
    "listed",
    [
        {"pyproject.toml": PYPROJECT},
        {"src/reid_plugin_x.egg-info/entry_points.txt": ENTRIES, "pyproject.toml": "[project]\n"},
    ],
)
def test_an_sdist_is_read_whatever_built_it(tmp_path: Path, listed: dict[str, str]) -> None:
    files = {"PKG-INFO": METADATA, "src/reid_plugin_x/part.py": "", **listed}
    archive = read_archive(sdist(tmp_path, files))
    assert (archive.declared.dist, archive.declared.version) == ("reid-plugin-x", "0.3")
    assert [entry.value for entry in archive.declared.entries] == ["reid_plugin_x.part:Mine"]
    assert "reid_plugin_x/part.py" in archive.files


@pytest.mark.parametrize("name", ["a.whl", "a.tar.gz"])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(UsageError, match=f"{name} cannot be read as a wheel or an sdist"):
        read_archive(path)


def test_a_file_without_metadata_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no METADATA in it"):
        read_archive(wheel(tmp_path, {"a.py": ""}))
    with pytest.raises(UsageError, match="names no distribution"):
        read_archive(sdist(tmp_path, {"a.py": ""}))
