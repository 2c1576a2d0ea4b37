"""What every reader of the package does with disks as people have them."""

import importlib.util
import tomllib
from pathlib import Path

import numpy as np
import pytest

from reid_core.errors import DataError
from reid_core.plugins.registries import DATASETS
from reid_plugin_datasets.folders import SUFFIXES

HERE = Path(__file__).resolve().parent
READERS = sorted(
    tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "entry-points"
    ]["reid_core.datasets"]
)


@pytest.fixture(scope="module")
def classes():
    """The conformance classes by data set: they know how to write a tiny copy of each."""
    spec = importlib.util.spec_from_file_location("kit_of_datasets", HERE / "test_conformance.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {one.name: one for one in vars(module).values() if hasattr(one, "prepare")}


@pytest.fixture
def write(classes):
    """Write the tiny copy of a data set; returns the parameters that lead to it."""

    def write(name, folder):
        folder.mkdir(parents=True)
        return {**classes[name]().prepare(folder), **classes[name].parameters}

    return write


def build(name, parameters):
    return DATASETS.build({"name": f"reid-plugin-datasets/{name}", **parameters})


def rows(manifest):
    columns = (manifest.paths, manifest.pids, manifest.camids, manifest.splits)
    return [column.tolist() for column in columns]


@pytest.mark.parametrize("name", READERS)
def test_b021_a_root_with_spaces_and_letters_of_any_script_changes_nothing(name, write, tmp_path):
    expected = rows(build(name, write(name, tmp_path / "plain")))
    odd = write(name, tmp_path / "re id" / "数据 #1" / "Märket,1501")
    assert rows(build(name, odd)) == expected


@pytest.mark.parametrize("name", READERS)
def test_b020_what_systems_leave_behind_is_ignored_and_no_image(name, write, tmp_path):
    parameters = write(name, tmp_path / "set")
    manifest = build(name, parameters)
    for path in sorted((tmp_path / "set").rglob("*")):
        if path.is_dir():
            for file in ("Thumbs.db", ".DS_Store", "desktop.ini"):
                (path / file).write_bytes(b"x")
            (path / "x.jpg").mkdir()
        elif path.suffix.lower() in SUFFIXES:
            (path.parent / f"._{path.name}").write_bytes(b"x")
    littered = build(name, parameters)
    assert rows(littered) == rows(manifest)
    assert not any("x.jpg" in note or "Thumbs" in note for note in littered.notes)


@pytest.mark.parametrize("name", READERS)
def test_a_folder_that_is_empty_or_not_there_is_named(name, write, tmp_path):
    parameters = write(name, tmp_path / "set")
    (tmp_path / "nothing").mkdir()
    for folder in ("nothing", "nowhere"):
        with pytest.raises(DataError) as error:
            build(name, {**parameters, "root": str(tmp_path / folder)})
        assert str(error.value).startswith(f"data set {name}: ")
        assert str(tmp_path / folder) in str(error.value)
        assert str(tmp_path / "set") not in str(error.value)


@pytest.mark.parametrize("name", READERS)
def test_paths_lead_to_the_images_with_forward_slashes(name, write, tmp_path):
    manifest = build(name, write(name, tmp_path / "set"))
    for path in manifest.paths.tolist():
        assert "\\" not in path
        assert not path.startswith("/")
        assert manifest.images.read(path)


@pytest.mark.parametrize("name", READERS)
def test_a_set_without_cameras_says_so_and_gives_none(name, write, tmp_path):
    manifest = build(name, write(name, tmp_path / "set"))
    if not manifest.has_cameras:
        assert not np.any(manifest.camids)
        assert len(manifest.cameras) == 0
