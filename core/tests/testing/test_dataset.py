from collections.abc import Mapping
from pathlib import Path

import pytest

from reid_core.testing import DatasetConformance, write_tiny_market

GOOD = """
import os
from pathlib import Path

import numpy as np
from reid_core import Manifest

def Example(*, root: str) -> Manifest:
    folder = Path(root)
    names = sorted(os.listdir(folder / "bounding_box_train"))
    notes = ()
    splits = ["train" for name in names]
    paths = [f"bounding_box_train/{name}" for name in names]
    return Manifest(
        name="example",
        root=folder,
        paths=np.array(paths),
        pids=np.array([int(name[:4]) for name in names]),
        camids=np.array([int(name[6]) for name in names]),
        splits=np.array(splits),
        notes=notes,
    )
"""
NAMES = 'names = sorted(os.listdir(folder / "bounding_box_train"))'
SPLITS = 'splits = ["train" for name in names]'
PATHS = 'paths = [f"bounding_box_train/{name}" for name in names]'
NOTES = "notes = ()"

FAULTS = {
    "it returns tuples": (
        "test_manifest_has_usable_splits", PATHS, "return list(zip(names, splits))",
        "returns a list; expected a reid_core.Manifest",
    ),
    "it finds nothing": (
        "test_manifest_has_usable_splits", NOTES, "notes, names = (), []",
        "no rows; let prepare",
    ),
    "it has no name": (
        "test_manifest_has_usable_splits", 'name="example"', 'name=""', "name is empty",
    ),
    "it has queries without a gallery": (
        "test_manifest_has_usable_splits", SPLITS, 'splits = ["query" for name in names]',
        "48 queries and 0 gallery images",
    ),
    "it has one identity": (
        "test_manifest_has_usable_splits", "int(name[:4])", "1",
        "has 1 identity; expected at least 2",
    ),
    "its files are elsewhere": (
        "test_files_exist_and_are_images", PATHS, "paths = names",
        "expected a file: paths are relative",
    ),
    "its paths are absolute": (
        "test_files_exist_and_are_images", PATHS,
        'paths = [str(folder / "bounding_box_train" / name) for name in names]',
        "is not relative with forward slashes",
    ),
    "its files are no images": (
        "test_files_exist_and_are_images", NOTES,
        'notes = (); (folder / "bounding_box_train" / names[0]).write_text("no image")',
        "reading bounding_box_train/0001_c1s1_000000_00.png",
    ),
    "its order is the disk's": (
        "test_two_builds_are_equal", NAMES, NAMES.replace("sorted", "list"),
        "another process with folders listed in another order",
    ),
    "its order is that of a set": (
        "test_two_builds_are_equal", NAMES, NAMES.replace("sorted", "set"),
        "another process with another PYTHONHASHSEED",
    ),
    "it counts its builds": (
        "test_two_builds_are_equal", NAMES,
        f'(folder / "bounding_box_train" / names_of(folder)).touch(); {NAMES}',
        "two builds give different rows",
    ),
    "it cannot be pickled": (
        "test_can_be_sent_to_a_worker", NOTES, "notes = (lambda: 0,)", "raised .* in pickle",
    ),
    "it changes when it is pickled": (
        "test_can_be_sent_to_a_worker", "return Manifest(\n", "return Other(\n",
        "the manifest changes when it is pickled",
    ),
    "it says that it knows no cameras and gives some": (
        "test_cameras_are_known_or_said_not_to_be", "        notes=notes,\n",
        "        notes=notes, has_cameras=False,\n",
        "its camids are not all 0; use reid_core.data.manifest.no_cameras",
    ),
    "it draws": (
        "test_random_state_of_the_run_is_left_alone", NOTES, "notes = (); np.random.rand()",
        "global generator of numpy",
    ),
    "it prints on the way and fails": (
        "test_manifest_has_usable_splits", NOTES, "notes = missing", "raised NameError",
    ),
}  # fmt: skip

MORE = """
class Other(Manifest):
    def __reduce__(self):
        columns = {name: getattr(self, name)[:2] for name in ("paths", "pids", "camids", "splits")}
        return shorter, (str(self.root), columns)

def shorter(root, columns):
    return Manifest(name="shorter", root=Path(root), **columns)

def names_of(folder):
    return f"0001_c1s1_{len(os.listdir(folder / 'bounding_box_train')):06d}_00.png"
"""


class OnTinyMarket(DatasetConformance):
    def prepare(self, folder: Path) -> Mapping[str, object]:
        return {"root": str(write_tiny_market(folder))}


def test_a_good_data_set_passes_every_check(installed_component, run_all_checks) -> None:
    assert run_all_checks(installed_component(OnTinyMarket, GOOD)) == 9


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(installed_component, run_check, fault: str) -> None:
    check, old, new, message = FAULTS[fault]
    component = installed_component(OnTinyMarket, GOOD + MORE, old, new)
    with pytest.raises(AssertionError, match=message):
        run_check(component, check)


def test_a_data_set_without_files_is_told_of_prepare(installed_component, run_check) -> None:
    component = installed_component(
        DatasetConformance, GOOD, parameters={"root": "/nowhere/at/all"}
    )
    with pytest.raises(AssertionError, match=r"write some in prepare\(\), or set `parameters`"):
        run_check(component, "test_manifest_has_usable_splits")


def test_every_check_has_a_fault_that_it_finds(own_checks) -> None:
    found = {check for check, *_ in FAULTS.values()}
    assert own_checks(DatasetConformance) == found
