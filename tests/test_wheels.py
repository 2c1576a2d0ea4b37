"""The wheels, as a user gets them: built, installed away from the repository, and run."""

from __future__ import annotations

import email
import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PROJECTS = sorted([ROOT / "core", *(ROOT / "plugins").iterdir()])

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheels")]


def read_project(folder):
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Every wheel, each built from its own sdist: nothing may rely on a file outside its folder."""
    folder = tmp_path_factory.mktemp("dist")
    for project in PROJECTS:
        subprocess.run(
            [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, project],
            check=True,
            capture_output=True,
        )
    return {path.name.partition("-")[0].replace("_", "-"): path for path in folder.glob("*.whl")}


@pytest.fixture(scope="module")
def third_party(tmp_path_factory):
    """The installed packages of others, without ours and without a way back to the repository."""
    folder = tmp_path_factory.mktemp("third_party")
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        is_ours = entry.name.startswith(("reid_", "_reid", "_editable", "__editable__"))
        if not is_ours and entry.suffix != ".pth":
            (folder / entry.name).symlink_to(entry)
    return folder


def install(folder, wheels, names, third_party):
    """Make an environment of the given wheels and everybody else's packages."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    purelib = next((folder / "lib").glob("python*/site-packages"))
    (purelib / "third_party.pth").write_text(f"{third_party}\n")
    # Wheels of pure Python are installed by unpacking; pip adds only the console scripts.
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps"]
        + [wheels[name] for name in names],
        check=True,
        capture_output=True,
    )
    return folder / "bin"


def run(command, *arguments, cwd):
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return subprocess.run(
        [str(command), *map(str, arguments)],
        cwd=cwd,
        env={**environment, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_versions_and_floors_agree():
    projects = [read_project(folder) for folder in PROJECTS]
    assert len(projects) == 6
    assert len({project["version"] for project in projects}) == 1
    for project in projects:
        for requirement in project["dependencies"]:
            if requirement.startswith("reid-"):
                assert requirement.partition(">=")[2] == "0.1", (project["name"], requirement)
            if requirement.startswith("torch>"):
                assert requirement == "torch>=2.6"


def test_a_wheel_holds_its_package_and_nothing_else(wheels):
    assert len(wheels) == 6
    for name, path in wheels.items():
        names = zipfile.ZipFile(path).namelist()
        package = name.replace("-", "_")
        top = {entry.partition("/")[0] for entry in names}
        assert top == {package, f"{package}-0.1.0.dist-info"}, name
        assert f"{package}/py.typed" in names, name
        assert any(entry.endswith("licenses/LICENSE") for entry in names), name
        assert not any("test_" in entry for entry in names), name
    core = zipfile.ZipFile(wheels["reid-core"]).namelist()
    assert any(entry.endswith("template.html.j2") for entry in core)
    osnet = zipfile.ZipFile(wheels["reid-plugin-osnet"]).namelist()
    assert "reid_plugin_osnet/recipes/osnet_x0_25.yaml" in osnet


def test_metadata_says_what_pyproject_says(wheels):
    for folder in PROJECTS:
        project = read_project(folder)
        archive = zipfile.ZipFile(wheels[project["name"]])
        info = next(n for n in archive.namelist() if n.endswith("dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(info))
        assert metadata["License-Expression"] == "Apache-2.0"
        assert metadata["Requires-Python"] == ">=3.11"
        required = [r for r in metadata.get_all("Requires-Dist") if "extra ==" not in r]
        # Compared as requirements: the build writes specifiers in another order.
        assert {Requirement(r) for r in required} == {
            Requirement(r) for r in project["dependencies"]
        }


def test_core_alone_lists_its_components_and_says_what_is_missing(
    tmp_path, wheels, third_party, tiny_market
):
    commands = install(tmp_path / "venv", wheels, ["reid-core"], third_party)
    listed = run(commands / "reid-plugins", "list", cwd=tmp_path)
    assert listed.returncode == 0, listed.stderr
    assert "market1501" in listed.stdout
    assert "osnet" not in listed.stdout
    unknown = run(commands / "reid-train", "--config", "osnet/osnet_x0_25", cwd=tmp_path)
    assert unknown.returncode == 2
    assert "unknown recipe 'osnet/osnet_x0_25'" in unknown.stderr


def test_core_and_osnet_with_its_dependencies_train_from_another_folder(
    tmp_path, wheels, third_party, small_osnet
):
    names = ["reid-core", "reid-plugin-osnet", "reid-plugin-heads", "reid-plugin-losses"]
    commands = install(tmp_path / "venv", wheels, names, third_party)
    where = run(commands / "python", "-c", "import reid_core; print(reid_core.__file__)", cwd="/")
    assert str(tmp_path) in where.stdout, "the repository is not on the path"
    trained = run(commands / "reid-train", *small_osnet, "--output", "mine", cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    assert (tmp_path / "mine" / "report.html").is_file()
    listed = run(commands / "reid-plugins", "list", "--dist", "reid-plugin-osnet", cwd=tmp_path)
    assert "editable" not in listed.stdout
