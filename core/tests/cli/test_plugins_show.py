from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reid_core.cli.plugins import main
from reid_core.plugins.metadata import installed_version
from reid_core.testing.fake_dist import FakeSite

SOURCE = '''
class Mine:
    """Keeps a margin.

    Args:
        margin: How far.
    """

    def __init__(self, *, feature_dim: int, margin: float, soft: bool = False) -> None: ...
'''


@pytest.fixture
def fake_dist(tmp_path: Path) -> Iterator[FakeSite]:
    site = FakeSite(tmp_path / "fake_site")
    yield site
    site.uninstall()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["show", *arguments])


def test_everything_about_a_component_is_shown(fake_dist: FakeSite) -> None:
    root = fake_dist(
        "reid-plugin-x",
        {
            "losses": {"mine": "reid_plugin_x:Mine"},
            "recipes": {"x": "reid_plugin_x_recipes"},
        },
        modules={
            "reid_plugin_x.py": SOURCE,
            "reid_plugin_x_recipes/__init__.py": "",
            "reid_plugin_x_recipes/a.yaml": "model: {losses: [{name: mine, margin: 1}]}\n",
        },
    )
    result = run("mine")
    assert (result.exit_code, result.stderr) == (0, "")
    assert (
        result.stdout
        == f"""\
loss mine
  distribution  reid-plugin-x 1.0
  entry point   reid_plugin_x:Mine
  status        ok
  file          {root / "reid_plugin_x.py"}:2

  Keeps a margin.

  Args:
      margin: How far.

Parameters
  margin  float  required
  soft    bool   false

Filled in by the trainer
  feature_dim  int

Recipes that use it
  x/a

In a configuration
  model:
    losses:
      - name: mine
        # weight: 1.0
        margin: <float>  # required
        # soft: false
"""
    )


def test_a_hook_is_shown_with_what_it_asks_for_and_in_which_order(fake_dist: FakeSite) -> None:
    source = (
        "from reid_core import hookimpl\nclass Mine:\n    observer = True\n"
        "    @hookimpl(tryfirst=True)\n    def after_step(self, trainer, step): ...\n"
        "    @hookimpl\n    def on_log(self, scalars): ...\n"
    )
    fake_dist(
        "reid-plugin-x",
        {"hooks": {"mine": "reid_plugin_x:Mine"}},
        modules={"reid_plugin_x.py": source},
    )
    lines = run("mine").stdout.splitlines()
    assert "No parameters of its own" in lines
    start = lines.index("Hooks, as an observer: a run goes on when it fails")
    assert lines[start + 1 : start + 3] == [
        "  after_step(trainer, step)  tryfirst",
        "  on_log(scalars)",
    ]


@pytest.mark.parametrize("name", ["reid-core/identity", "Reid_Core/identity", "identity"])
def test_a_component_is_found_by_either_spelling(name: str) -> None:
    result = run(name)
    assert result.exit_code == 0
    assert result.stdout.startswith("sampler identity\n  distribution  reid-core ")


def test_a_name_of_several_kinds_shows_all_of_them_and_a_kind_picks_one() -> None:
    both = run("market1501").stdout
    assert [line for line in both.splitlines() if line.endswith("market1501")][:1] == [
        "dataset market1501"
    ]
    assert "\n\nprotocol market1501\n" in both
    for kind in ("protocol", "protocols"):
        one = run("market1501", "--kind", kind).stdout
        assert one.startswith("protocol market1501\n")
        assert "dataset" not in one.splitlines()[0]


def test_one_that_cannot_be_loaded_is_shown_as_far_as_its_metadata_goes(
    fake_dist: FakeSite,
) -> None:
    fake_dist(
        "reid-plugin-x",
        {"losses": {"mine": "reid_plugin_x:Mine"}},
        modules={"reid_plugin_x.py": "import sys; sys.exit(0)\n"},
    )
    result = run("mine")
    assert result.exit_code == 4
    assert result.stdout == (
        "loss mine\n  distribution  reid-plugin-x 1.0\n  entry point   reid_plugin_x:Mine\n"
        "  status        ok\n"
    )
    assert result.stderr.startswith(
        "error: loss 'mine' of reid-plugin-x 1.0 (reid_plugin_x:Mine) cannot be loaded: SystemExit"
    )


def test_one_that_ends_the_process_has_shown_its_metadata_before(fake_dist: FakeSite) -> None:
    root = fake_dist(
        "reid-plugin-x",
        {"losses": {"mine": "reid_plugin_x:Mine"}},
        modules={"reid_plugin_x.py": "import os; os._exit(9)\n"},
    )
    done = subprocess.run(
        [sys.executable, "-c", "from reid_core.cli.plugins import main; main(['show', 'mine'])"],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 9
    assert "distribution  reid-plugin-x 1.0" in done.stdout


def test_one_that_a_switch_leaves_out_is_not_loaded(
    fake_dist: FakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_dist("reid-plugin-x", {"losses": {"mine": "reid_plugin_x:Mine"}})
    monkeypatch.setenv("REID_DISABLE_PLUGINS", "reid-plugin-x")
    result = run("mine")
    assert result.exit_code == 4
    assert "status        disabled: by REID_DISABLE_PLUGINS" in result.stdout
    assert "is disabled by REID_DISABLE_PLUGINS" in result.stderr


def test_an_alias_says_what_it_stands_for(fake_dist: FakeSite) -> None:
    fake_dist(
        "reid-plugin-x",
        {
            "losses": {"mine": "reid_plugin_x:Mine"},
            "deprecated_aliases": {"losses.old": "mine"},
        },
        modules={"reid_plugin_x.py": SOURCE},
    )
    assert "  stands for    mine (an old name)\n" in run("old").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["identty"],
            4,
            "error: no installed component is called 'identty'; did you mean identity? "
            "(a sampler); 'reid-plugins list' shows them all\n",
        ),
        (["zzz"], 4, "error: no installed component is called 'zzz'; 'reid-plugins list'"),
        (["identty", "--kind", "samplers"], 4, "error: unknown sampler 'identty'; did you mean"),
        (["identity", "--kind", "heads"], 4, "; reid-core has a sampler of that name; "),
        (["identity", "--kind", "hed"], 2, "error: --kind hed: no such kind; did you mean heads?"),
    ],
)
def test_an_unknown_name_is_answered_with_the_near_match(
    arguments: list[str], code: int, message: str
) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr


@pytest.mark.skipif(not installed_version("reid-plugin-osnet"), reason="needs reid-plugin-osnet")
def test_a_recipe_is_told_from_a_component() -> None:
    result = run("osnet/osnet_x0_25")
    assert result.exit_code == 4
    assert "is a recipe, not a component; reid-config show osnet/osnet_x0_25" in result.stderr


def test_a_missing_component_of_ours_is_answered_with_its_distribution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = {"heads": {"reid-plugin-nobody": ("nobodys_head",)}}
    monkeypatch.setattr("reid_core.plugins.known.KNOWN", known)
    result = run("nobodys_head")
    assert result.exit_code == 4
    assert "it is known to be provided by reid-plugin-nobody: pip install" in result.stderr


def test_json_holds_the_same_with_a_schema_number(fake_dist: FakeSite) -> None:
    source = f"print('noise')\n{SOURCE}"
    fake_dist(
        "reid-plugin-x",
        {"losses": {"mine": "reid_plugin_x:Mine"}},
        modules={"reid_plugin_x.py": source},
    )
    result = run("mine", "--json")
    assert (result.exit_code, result.stderr) == (0, "noise\n")
    parsed = json.loads(result.stdout)
    assert parsed["schema"] == 1
    (component,) = parsed["components"]
    assert (component["kind"], component["dist"], component["line"]) == (
        "losses",
        "reid-plugin-x",
        3,
    )
    assert component["parameters"][1] == {
        "name": "margin",
        "type": "float",
        "is_required": True,
        "default": "",
        "is_from_trainer": False,
    }
    assert component["snippet"].startswith("model:\n  losses:\n")


def test_json_of_one_that_cannot_be_loaded_has_its_error(fake_dist: FakeSite) -> None:
    fake_dist("reid-plugin-x", {"losses": {"mine": "reid_plugin_x:Mine"}})
    result = run("mine", "--json")
    assert result.exit_code == 4
    (component,) = json.loads(result.stdout)["components"]
    assert (component["name"], component["snippet"]) == ("mine", "")
    assert "No module named 'reid_plugin_x'" in component["error"]
    assert "No module named 'reid_plugin_x'" in result.stderr


@pytest.mark.parametrize("arguments", [["nobody"], ["market1501", "--kind", "datasets"]])
def test_torch_is_imported_only_where_the_component_imports_it(arguments: list[str]) -> None:
    program = (
        "import sys\nfrom reid_core.cli.plugins import main\n"
        f"try: main(['show', *{arguments!r}])\nexcept SystemExit: pass\n"
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0
