"""Each project that ``reid-plugins new`` writes works unchanged, from install to training.

One environment serves all of them. It sees the packages of the development environment, and the
projects are installed into it in the way that the command tells people to.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from reid_core.cli.plugins import main as reid_plugins
from reid_core.templates import TEMPLATE_KINDS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("templates")]

ROOT = Path(__file__).resolve().parents[1]
EACH_KIND = pytest.mark.parametrize("kind", TEMPLATE_KINDS)
ENTRY = "import sys; from reid_core.cli.{module} import main; sys.exit(main())"


@pytest.fixture(scope="module")
def projects(tmp_path_factory):
    """A project of each kind, by kind."""
    parent = tmp_path_factory.mktemp("projects")
    for kind in TEMPLATE_KINDS:
        arguments = ["new", f"my-{kind}", "--kind", kind, "--dir", str(parent)]
        result = CliRunner().invoke(reid_plugins, arguments)
        assert result.exit_code == 0, result.stderr
    return {kind: parent / f"reid-plugin-my-{kind}" for kind in TEMPLATE_KINDS}


@pytest.fixture(scope="module")
def python(projects, tmp_path_factory):
    """The interpreter of an environment with every project, and with what is installed here."""
    folder = tmp_path_factory.mktemp("templates") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    purelib = next((folder / "lib").glob("python*/site-packages"))
    # addsitedir, unlike a plain line, also takes the editable installs that are there.
    outer = sysconfig.get_path("purelib")
    (purelib / "outer.pth").write_text(f"import site; site.addsitedir({outer!r})\n")
    python = folder / "bin" / "python"
    offline = ["--no-index", "--no-deps", "--no-build-isolation"]
    editable = [word for project in projects.values() for word in ("-e", project)]
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", *offline, *editable],
        check=True,
        capture_output=True,
    )
    return python


@pytest.fixture(scope="module")
def run(python, tmp_path_factory):
    """Run a program of the environment in a project; the synthetic set is drawn only once."""
    cache = tmp_path_factory.mktemp("cache")
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "PYTHON", "REID_", "VIRTUAL_ENV"))
    }

    def call(*arguments, cwd):
        return subprocess.run(
            [str(argument) for argument in (python, *arguments)],
            cwd=cwd,
            env={**inherited, "REID_CACHE": str(cache), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    return call


def command(module, *arguments):
    """Return what the interpreter is given for one of our commands."""
    return ["-c", ENTRY.format(module=module), *arguments]


@EACH_KIND
def test_it_is_listed(kind, projects, run):
    dist = projects[kind].name
    listed = run(*command("plugins", "list", "--dist", dist, "--json"), cwd="/")
    rows = [
        {key: row[key] for key in ("kind", "name", "dist", "version", "editable", "status")}
        for row in json.loads(listed.stdout)["components"]
    ]
    same = {
        "name": f"my_{kind}",
        "dist": dist,
        "version": "0.1.0",
        "editable": True,
        "status": "ok",
    }
    assert rows == [
        {"kind": kind, **same} for kind in sorted((TEMPLATE_KINDS[kind].kind, "recipes"))
    ]


def test_the_check_of_plugins_finds_nothing(projects, run):
    dists = [project.name for project in projects.values()]
    checked = run(*command("plugins", "check", "--json", *dists), cwd="/")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    reports = json.loads(checked.stdout)["distributions"]
    assert {(one["name"], one["faults"], one["warnings"]) for one in reports} == {
        (dist, 0, 0) for dist in dists
    }


def test_the_sources_are_typed(projects, tmp_path):
    folders = [project / "src" for project in projects.values()]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path, *folders],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


@EACH_KIND
def test_its_own_tests_pass(kind, projects, run):
    tested = run("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=projects[kind])
    assert tested.returncode == 0, tested.stdout
    summary = tested.stdout.splitlines()[-1]
    assert re.match(r"\d+ passed", summary), summary
    assert "skipped" not in summary
    assert "warning" not in summary, tested.stdout


@EACH_KIND
def test_it_trains_by_its_recipe(kind, projects, run):
    folder = projects[kind] / "runs" / "example"
    trained = run(
        *command("train", "--config", f"my_{kind}/example", "--output", folder), cwd=projects[kind]
    )
    assert trained.returncode == 0, trained.stderr
    used = json.loads((folder / "components.json").read_text())
    assert (f"my_{kind}", projects[kind].name) in {(one["name"], one["dist"]) for one in used}
    evaluations = json.loads((folder / "results.json").read_text())["evaluations"]
    before, after = (evaluation["metrics"]["mAP"] for evaluation in evaluations)
    assert after > before + 0.1, "it learns"


def build_wheel(project, folder):
    """Build a distribution and return the names of the files in its wheel."""
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, project],
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


def test_a_wheel_holds_the_recipe_and_nothing_that_is_not_the_package(projects, tmp_path):
    package, info = "reid_plugin_my_loss", "reid_plugin_my_loss-0.1.0.dist-info"
    names = build_wheel(projects["loss"], tmp_path)
    assert {name for name in names if not name.startswith(info)} == {
        f"{package}/__init__.py",
        f"{package}/my_loss.py",
        f"{package}/py.typed",
        f"{package}/recipes/example.yaml",
    }
    assert f"{info}/licenses/LICENSE" in names


def test_the_wheel_of_the_core_holds_every_template(tmp_path):
    sources = ROOT / "core" / "src"
    templates = {
        path.relative_to(sources).as_posix()
        for path in (sources / "reid_core" / "templates").rglob("*.j2")
    }
    assert len(templates) > len(TEMPLATE_KINDS) * 4
    assert templates <= build_wheel(ROOT / "core", tmp_path)
