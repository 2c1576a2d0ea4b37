"""The wheels, as a user gets them: built, installed away from the repository, and run."""

from __future__ import annotations

import email
import json
import os
import re
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


@pytest.fixture(scope="module")
def everything(tmp_path_factory, wheels, third_party):
    """Where the commands are of an environment that has all wheels."""
    return install(tmp_path_factory.mktemp("all") / "venv", wheels, sorted(wheels), third_party)


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
    assert len(projects) == 13
    assert len({project["version"] for project in projects}) == 1
    for project in projects:
        for requirement in project["dependencies"]:
            if requirement.startswith("reid-"):
                assert requirement.partition(">=")[2] == "0.1", (project["name"], requirement)
            if requirement.startswith("torch>"):
                assert requirement == "torch>=2.6"


def test_a_wheel_holds_its_package_and_nothing_else(wheels):
    assert len(wheels) == 13
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


#: ``from reid_core.x import a, b as c`` with or without brackets, and ``import reid_core.x``.
IMPORT = re.compile(
    r"\bfrom (?P<source>reid_\w+(?:\.\w+)*) import (?P<names>\([^)]*\)|\w[^\n#`]*)"
    r"|\bimport (?P<module>reid_\w+(?:\.\w+)*)"
)

IMPORT_ALL = """
import importlib, json, sys
for module, names in json.load(open(sys.argv[1])):
    found = None
    try:
        found = importlib.import_module(module)
        missing = [name for name in names if not hasattr(found, name)]
    except ImportError as error:
        missing = [repr(error)]
    print(json.dumps([module, missing, getattr(found, "__file__", None)]))
"""


def documented_imports():
    """Return every import of ours that a page shows, as (module, names)."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]
    pages += [page for project in PROJECTS for page in project.glob("*.md")]
    imports: dict[str, set[str]] = {}
    for page in pages:
        for match in IMPORT.finditer(page.read_text(encoding="utf-8")):
            names = re.sub(r"#.*", "", match["names"] or "").strip("()").split(",")
            kept = {name.split()[0] for name in names if name.strip()} - {"*"}
            imports.setdefault(match["source"] or match["module"], set()).update(kept)
    return imports


# Case B177.
def test_every_documented_import_works_from_the_wheels(everything, wheels, tmp_path):
    packages = {name.replace("-", "_") for name in wheels}
    # Pages also import from packages that they tell the reader to write.
    ours = {m: n for m, n in documented_imports().items() if m.partition(".")[0] in packages}
    assert {"DefaultTrainer", "hookimpl", "load_config"} <= ours["reid_core"]
    assert len(ours) > 10
    wanted = [(module, sorted(names)) for module, names in sorted(ours.items())]
    (tmp_path / "imports.json").write_text(json.dumps(wanted))
    done = run(everything / "python", "-c", IMPORT_ALL, "imports.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [module for module, _, _ in results] == [module for module, _ in wanted]
    assert {module: missing for module, missing, _ in results if missing} == {}
    assert all(Path(file).is_relative_to(everything.parent) for _, _, file in results)


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_commands_answer_without_importing_torch(option, everything, tmp_path):
    for command in read_project(ROOT / "core")["scripts"]:
        done = run(
            *(everything / "python", "-X", "importtime", everything / command, option),
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(
            f"{command}, version 0.1.0" if option == "--version" else f"Usage: {command} "
        )
        imported = {
            line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()
        }
        assert "reid_core" in imported
        assert not imported & {"torch", "torchvision", "numpy"}, command


# Case B176.
def test_a_version_is_written_down_and_nothing_runs_to_find_it():
    for folder in PROJECTS:
        whole = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
        assert re.fullmatch(r"\d+\.\d+\.\d+", whole["project"]["version"]), folder.name
        assert "dynamic" not in whole["project"], folder.name
        assert set(whole["build-system"]) == {"requires", "build-backend"}, folder.name
        assert [Requirement(r).name for r in whole["build-system"]["requires"]] == ["hatchling"]
        assert set(whole["tool"]) <= {"hatch"}, folder.name
        assert set(whole["tool"]["hatch"]) == {"build"}, folder.name
        assert set(whole["tool"]["hatch"]["build"]) == {"targets"}, folder.name
        assert not (folder / "setup.py").exists()
        assert not (folder / "hatch_build.py").exists()


def test_wheels_are_of_python_alone(wheels):
    for name, path in wheels.items():
        assert path.name.endswith("-py3-none-any.whl"), name
        archive = zipfile.ZipFile(path)
        info = next(n for n in archive.namelist() if n.endswith("dist-info/WHEEL"))
        assert email.message_from_bytes(archive.read(info))["Root-Is-Purelib"] == "true"
        suffixes = {Path(entry).suffix for entry in archive.namelist()}
        assert not suffixes & {".so", ".pyd", ".dll", ".dylib", ".pyx", ".c", ".cpp", ".cu"}, name


EVALUATE = """
import numpy as np, torch
from reid_core.evaluation import Embeddings, evaluate_retrieval, market1501
rng = np.random.default_rng(0)
side = lambda n: Embeddings(
    torch.from_numpy(rng.standard_normal((n, 8), dtype=np.float32)),
    rng.integers(1, 5, n), rng.integers(1, 4, n),
)
print(evaluate_retrieval(side(20), side(60), distance="cosine", protocol=market1501()).protocol)
"""


# Case B174: there is one way, in numpy, so none is missing where there is no compiler.
def test_evaluation_has_no_second_slower_way_to_apologise_for(everything, tmp_path):
    done = run(everything / "python", "-W", "error", "-c", EVALUATE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1
