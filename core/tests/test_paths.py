from __future__ import annotations

from pathlib import Path

import pytest

from reid_core.errors import UsageError
from reid_core.paths import cache_dir, require_writable, resolve_root

VARIABLES = ("REID_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA", "REID_DATASETS", "FASTREID_DATASETS")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def test_the_projects_own_variable_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    monkeypatch.setenv("REID_CACHE", "~/mine")
    assert cache_dir() == tmp_path / "home" / "mine"


@pytest.mark.parametrize(
    ("platform", "variable", "without"),
    [
        ("linux", "XDG_CACHE_HOME", ".cache"),
        ("win32", "LOCALAPPDATA", "AppData/Local"),
    ],
)
def test_the_operating_systems_place_is_used(
    platform: str, variable: str, without: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("reid_core.paths.sys.platform", platform)
    assert cache_dir() == tmp_path / "home" / without / "reid-core"
    monkeypatch.setenv(variable, "")  # set but empty counts as not set
    assert cache_dir() == tmp_path / "home" / without / "reid-core"
    monkeypatch.setenv(variable, str(tmp_path / "given"))
    assert cache_dir() == tmp_path / "given" / "reid-core"


def test_macos_has_a_place_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("reid_core.paths.sys.platform", "darwin")
    assert cache_dir() == tmp_path / "home" / "Library" / "Caches" / "reid-core"


def test_asking_for_the_cache_makes_no_folder(tmp_path: Path) -> None:
    assert not cache_dir().exists()


def test_a_root_that_exists_here_is_taken_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "market").mkdir()
    (tmp_path / "sets" / "market").mkdir(parents=True)
    monkeypatch.setenv("REID_DATASETS", str(tmp_path / "sets"))
    assert resolve_root("market") == Path("market")


def test_other_roots_are_looked_for_under_the_variables_in_their_order(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for folder in ("ours/market", "theirs/market", "theirs/duke"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setenv("FASTREID_DATASETS", str(tmp_path / "theirs"))
    assert resolve_root("market") == tmp_path / "theirs" / "market"
    monkeypatch.setenv("REID_DATASETS", str(tmp_path / "ours"))
    assert resolve_root("market") == tmp_path / "ours" / "market"
    assert resolve_root(Path("duke")) == tmp_path / "theirs" / "duke"


def test_a_root_that_is_nowhere_is_given_back_for_the_reader_to_report(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REID_DATASETS", "")
    assert resolve_root("nowhere") == Path("nowhere")
    assert resolve_root(tmp_path / "nowhere") == tmp_path / "nowhere"


def test_the_home_folder_is_expanded(tmp_path: Path) -> None:
    assert resolve_root("~/market") == tmp_path / "home" / "market"


def test_a_folder_below_a_file_or_without_permission_is_refused(monkeypatch, tmp_path):
    require_writable(tmp_path / "new" / "run")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"output .*file is a file; expected a folder"):
        require_writable(tmp_path / "file")
    with pytest.raises(
        UsageError, match=r"--output .*run cannot be made: .*file is a file; choose"
    ):
        require_writable(tmp_path / "file" / "new" / "run", option="--output")
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path)
    with pytest.raises(UsageError, match="no permission to write into") as caught:
        require_writable(tmp_path / "new" / "run")
    assert str(tmp_path / "new" / "run") in str(caught.value)
