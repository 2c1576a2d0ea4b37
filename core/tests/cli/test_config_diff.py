from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
import yaml
from click.testing import CliRunner

from reid_core.cli.config import main
from reid_core.config import Config
from reid_core.config.load import dump_config

MARK = {"role": "train", "name": "mine", "rows": 4, "identities": 2, "columns": "c0ffee"}
ENVIRONMENT = {
    "torch": "2.9",
    "device": "cpu",
    "host": "a",
    "seed": 0,
    "command": ["reid-train", "a"],
    "hardware": {"gpus": ["H", "H"]},
    "plugin_files": [{"path": "/x/my_hook.py", "sha256": "12", "copy": "plugins/my_hook.py"}],
    "numerics": {"tf32": False},
    "git": {"root": "/a", "commit": "abc", "dirty": ["x.py"], "num_dirty": 1},
    "plugin_git": {"reid-core": {"commit": "abc", "num_dirty": 0}},
}


def diff(*arguments):
    return CliRunner().invoke(main, ["diff", *map(str, arguments)])


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "config.yaml").write_text(dump_config(Config(output="a")))
    head = {"kind": "heads", "name": "linear", "dist": "reid-core", "version": "0.1"}
    (folder / "components.json").write_text(json.dumps([head]))
    (folder / "data.json").write_text(json.dumps([MARK]))
    (folder / "env.json").write_text(json.dumps(ENVIRONMENT))
    (folder / "packages.txt").write_text("abc==1\nmine==2  # editable: /home/me\n")
    (folder / "git.diff").write_text("+x")
    return folder


@pytest.fixture
def other(run, tmp_path):
    """The same run, made again elsewhere."""
    folder = shutil.copytree(run, tmp_path / "b")
    (folder / "config.yaml").write_text(dump_config(Config(output="b")))
    change(folder, host="b", command=["reid-train", "b"], git={**ENVIRONMENT["git"], "root": "/b"})
    (folder / "packages.txt").write_text("abc==1\nmine==2  # editable: /home/you\n")
    return folder


def change(folder, **facts):
    path = folder / "env.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))


def test_runs_that_were_made_the_same_way_are_equal_wherever_they_lie(run, other):
    result = diff(run, other)
    assert (result.exit_code, result.output) == (0, "")
    result = diff(run, other, "--json")
    assert (result.exit_code, json.loads(result.stdout)["differences"]) == (0, [])


def test_whatever_differs_between_two_runs_is_a_row(run, other):
    (other / "config.yaml").write_text(dump_config(Config(seed=3)))
    (other / "components.json").write_text("[]")
    (other / "data.json").write_text(json.dumps([{**MARK, "rows": 5}]))
    (other / "packages.txt").write_text("abc==2\nmine==2\n")
    (other / "git.diff").write_text("+y")
    change(
        other,
        torch="2.10",
        numerics={"tf32": True},
        hardware={"gpus": ["H"]},
        git={**ENVIRONMENT["git"], "commit": "def"},
        plugin_files=[{**ENVIRONMENT["plugin_files"][0], "path": "/y/my_hook.py", "sha256": "34"}],
    )
    result = diff(run, other, "--json")
    assert result.exit_code == 1
    content = json.loads(result.stdout)
    assert (content["schema"], content["a"], content["notes"]) == (1, str(run), [])
    rows = {one["path"]: (one["a"], one["b"]) for one in content["differences"]}
    assert list(rows) == sorted(rows)
    hashes = rows.pop("git.diff")
    assert all(len(value) == 64 for value in hashes)
    assert rows == {
        "components.heads.linear": ("reid-core 0.1", None),
        "data_set.train.mine.rows": (4, 5),
        "env.hardware.gpus": ("H, H", "H"),
        "env.plugin_files.my_hook.py": ("12", "34"),
        "env.torch": ("2.9", "2.10"),
        "git.commit": ("abc", "def"),
        "numerics.tf32": (False, True),
        "packages.abc": ("1", "2"),
        "seed": (0, 3),
    }


def test_distributions_of_one_repository_are_told_once(run, other):
    mine = {"commit": "abc", "num_dirty": 0}
    names = ("reid-core", "reid-plugin-a", "reid-plugin.b")
    change(run, plugin_git={**dict.fromkeys(names, mine), "their": {**mine, "commit": "123"}})
    moved = {"commit": "def", "num_dirty": 2}
    change(other, plugin_git={**dict.fromkeys(names, moved), "their": {**moved, "commit": "123"}})
    content = json.loads(diff(run, other, "--json").stdout)
    assert {one["path"]: (one["a"], one["b"]) for one in content["differences"]} == {
        "plugin_git.reid-core.commit": ("abc", "def"),
        "plugin_git.reid-core.num_dirty": (0, 2),
        "plugin_git.their.num_dirty": (0, 2),
    }
    assert content["notes"] == [
        "plugin_git.reid-core is told for reid-plugin-a, reid-plugin.b too: they are of one "
        "repository"
    ]


def test_two_files_are_compared_in_a_table(tmp_path):
    for name, text in {
        "a.yaml": "train: {epochs: 60}\nmodel: {losses: [{name: one}]}\n",
        "b.yaml": f"description: {'long ' * 20}\noutput: here\n",
    }.items():
        (tmp_path / name).write_text(text)
    result = diff(tmp_path / "a.yaml", tmp_path / "b.yaml")
    assert (result.exit_code, result.stderr) == (1, "")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["A", "B"]
    assert [line[0] for line in lines[1:]] == sorted(line[0] for line in lines[1:])
    assert ["train.epochs", "60", "120"] in lines
    assert ["output", "-", "here"] in lines
    assert ["model.losses.0.name", "one", "-"] in lines
    assert next(line for line in lines if line[0] == "description")[-1].endswith("…")
    starts = {
        line.index(line.split()[2]) for line in result.stdout.splitlines()[1:] if "120" in line
    }
    assert starts == {result.stdout.splitlines()[0].index("B")}


def test_a_run_and_a_recipe_are_compared_in_their_settings_alone(run, tmp_path):
    recipe = tmp_path / "recipe.yaml"
    # The folder is the run's own affair: a recipe seldom names it.
    recipe.write_text(yaml.safe_dump({"output": "elsewhere"}))
    assert [diff(*sides).exit_code for sides in ((run, recipe), (recipe, run))] == [0, 0]
    recipe.write_text(yaml.safe_dump({"seed": 1}))
    result = diff(run, recipe)
    assert result.exit_code == 1
    assert [line.split() for line in result.stdout.splitlines()[1:]] == [["seed", "0", "1"]]
    assert result.stderr == f"note: {recipe} is no run: settings alone are compared\n"


def test_a_file_that_one_run_lacks_is_told_and_left_out(run, other):
    (other / "data.json").unlink()
    (run / "packages.txt").unlink()
    result = diff(run, other)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.splitlines() == [
        f"note: {other} has no data.json: it is not compared",
        f"note: {run} has no packages.txt: it is not compared",
    ]


@pytest.mark.parametrize("trouble", ["empty folder", "no such recipe", "damaged", "other content"])
def test_what_cannot_be_read_is_a_usage_error(run, other, tmp_path, trouble):
    name, text = str(other), f"error: {other / 'data.json'} cannot be read: "
    if trouble == "empty folder":
        (tmp_path / "empty").mkdir()
        name = str(tmp_path / "empty")
        text = f"error: {name} is a folder without config.yaml; expected a run folder, a YAML file"
    elif trouble == "no such recipe":
        name, text = "nobody/nothing", "error: unknown recipe 'nobody/nothing'"
    elif trouble == "damaged":
        (other / "data.json").write_text("{")
    else:
        (other / "data.json").write_text("{}")
        text = f"error: {other / 'data.json'} holds something else than a list of mappings"
    result = diff(run, name)
    assert result.exit_code == 2
    assert result.stderr.startswith(text)


def test_comparing_runs_needs_no_torch(run, other):
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom reid_core.cli.config import main\n"
        f"result = CliRunner().invoke(main, ['diff', {str(run)!r}, {str(other)!r}])\n"
        "print(result.exit_code, sorted({'torch', 'numpy', 'PIL'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0 []\n"
