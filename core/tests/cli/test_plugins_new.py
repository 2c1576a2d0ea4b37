from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reid_core.cli.plugins import main
from reid_core.plugins.index import KINDS
from reid_core.plugins.metadata import Metadata
from reid_core.templates import TEMPLATE_KINDS


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def new(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["new", *arguments])


def refused(*arguments: str) -> str:
    """Return the message of a call that must fail as wrong usage and write nothing."""
    before = sorted(Path().rglob("*"))
    result = new(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sorted(Path().rglob("*")) == before
    return result.stderr


def provide(folder: Path, monkeypatch: pytest.MonkeyPatch, dist: str, entry_points: str) -> None:
    """Make a distribution look installed."""
    info = folder / "site" / f"{dist.replace('-', '_')}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dist}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(entry_points)
    monkeypatch.syspath_prepend(folder / "site")


def test_it_prints_the_next_three_commands() -> None:
    result = new("my-loss", "--kind", "loss")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "wrote reid-plugin-my-loss: 12 files. Next:\n"
        "\n"
        "  cd reid-plugin-my-loss && pip install -e '.[test]'\n"
        "  python -m pytest\n"
        "  reid-train --config my_loss/example\n"
    )
    assert (Path("reid-plugin-my-loss") / "pyproject.toml").is_file()
    # A script of that name may be one of another environment.
    assert "\npython -m pytest\n" in Path("reid-plugin-my-loss/README.md").read_text()


def test_the_folder_may_be_elsewhere_and_its_name_is_quoted_for_the_shell() -> None:
    result = new("my-loss", "--kind", "loss", "--dir", "my work")
    assert "  cd 'my work/reid-plugin-my-loss' && pip install" in result.stdout
    assert Path("my work/reid-plugin-my-loss/README.md").is_file()


def test_the_author_is_named() -> None:
    assert new("my-loss", "--kind", "loss", "--author", "Ada Lovelace").exit_code == 0
    assert "Ada Lovelace" in Path("reid-plugin-my-loss/LICENSE").read_text()


def test_a_kind_is_required() -> None:
    assert "Missing option '--kind'" in refused("my-loss")


@pytest.mark.parametrize("kind", TEMPLATE_KINDS)
def test_every_template_is_written(kind: str) -> None:
    assert new("my-part", "--kind", kind).exit_code == 0
    assert Path("reid-plugin-my-part/src/reid_plugin_my_part/my_part.py").is_file()


@pytest.mark.parametrize("kind", sorted({*KINDS} - {t.kind for t in TEMPLATE_KINDS.values()}))
def test_a_kind_without_a_template_is_answered_with_the_seven_that_have_one(kind: str) -> None:
    message = refused("my-part", "--kind", kind)
    assert message.startswith(f"error: --kind {kind}: there is no template for {kind}, only for")
    assert ", ".join(TEMPLATE_KINDS) in message


def test_a_name_that_cannot_be_one_is_refused() -> None:
    assert refused("MyLoss", "--kind", "loss").startswith("error: NAME 'MyLoss' cannot name")


def test_a_second_time_is_refused() -> None:
    new("my-loss", "--kind", "loss")
    message = refused("my-loss", "--kind", "head")
    assert message.startswith("error: reid-plugin-my-loss is not empty")


def test_a_name_of_the_core_is_refused_in_its_kind_alone() -> None:
    assert refused("identity", "--kind", "sampler") == (
        "error: sampler 'identity' is the core's own, which always has that name; choose another "
        "NAME\n"
    )
    assert new("identity", "--kind", "transform").exit_code == 0


def test_a_name_that_an_installed_distribution_has_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provide(tmp_path, monkeypatch, "somebodys-parts", "[reid_core.losses]\nmine = nowhere:Mine\n")
    assert refused("mine", "--kind", "loss") == (
        "error: loss 'mine' is provided by somebodys-parts 1.2; choose another NAME\n"
    )
    monkeypatch.setenv("REID_NO_PLUGINS", "1")
    assert "is provided by somebodys-parts" in refused("mine", "--kind", "loss")


def test_a_name_that_cannot_be_used_where_it_is_declared_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provide(tmp_path, monkeypatch, "somebodys-parts", "[reid_core.losses]\nmine = not a path\n")
    assert new("mine", "--kind", "loss").exit_code == 0


def test_a_name_of_recipes_that_are_installed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provide(tmp_path, monkeypatch, "somebodys-parts", "[reid_core.recipes]\nmine = nowhere\n")
    assert refused("mine", "--kind", "loss").startswith("error: the recipes 'mine' are provided by")


def test_the_name_of_an_installed_distribution_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provide(tmp_path, monkeypatch, "reid-plugin-mine", "[reid_core.losses]\nother = nowhere:X\n")
    assert refused("mine", "--kind", "loss") == (
        "error: reid-plugin-mine 1.2 is installed already; choose another NAME\n"
    )


def test_names_of_this_projects_plugins_are_refused_where_they_are_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("reid_core.templates.availability.installed_version", lambda dist: None)
    assert "reid-plugin-heads is a plugin of this project" in refused("heads", "--kind", "loss")
    monkeypatch.setattr("reid_core.plugins.index.read_metadata", lambda: Metadata(()))
    assert "loss 'triplet' is known to be provided by reid-plugin-losses" in refused(
        "triplet", "--kind", "loss"
    )
    assert new("triplet", "--kind", "head").exit_code == 0


def test_no_plugin_and_no_torch_is_imported() -> None:
    probe = (
        "import sys\n"
        "from reid_core.cli.plugins import main\n"
        "code = None\n"
        "try:\n"
        "    main(['new', 'my-loss', '--kind', 'loss'])\n"
        "except SystemExit as error:\n"
        "    code = error.code\n"
        "heavy = {'torch', 'numpy', 'PIL', 'timm'} & set(sys.modules)\n"
        "print(code, sorted(heavy), sorted(m for m in sys.modules if 'reid_plugin' in m))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == "0 [] []"
