from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reid_core.cli.plugins import main
from reid_core.plugins.index import KINDS, installed


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["list", *arguments])


def rows(*arguments: str) -> list[list[str]]:
    result = run(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return [line.split() for line in result.stdout.splitlines()[1:]]


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two distributions whose modules cannot be imported and whose metadata is odd."""
    for dist, requires in (("fake-a", "reid-core>=99"), ("fake-b", "torch")):
        info = tmp_path / dist / f"{dist}-1.0.dist-info".replace("fake-", "fake_")
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {dist}\nVersion: 1.0\nRequires-Dist: {requires}\n"
        )
        (info / "entry_points.txt").write_text(
            "[reid_core.heads]\nshared = fake_bomb:Part\n"
            f"only_{dist[-1]} = fake_bomb:Part\nodd_{dist[-1]} = not an import\n"
        )
        (tmp_path / dist / "fake_bomb.py").write_text("raise SystemExit(3)\n")
        monkeypatch.syspath_prepend(tmp_path / dist)


def test_every_component_is_listed_under_a_header() -> None:
    result = run()
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].split() == [
        *("kind", "name", "distribution", "version", "status")
    ]
    listed = [(row[0], row[1], row[2]) for row in rows()]
    assert listed == [(ref.kind, ref.name, ref.dist) for ref in installed().refs]
    assert ("samplers", "identity", "reid-core") in listed


def test_columns_line_up_and_no_line_ends_in_spaces() -> None:
    lines = run().stdout.splitlines()
    starts = {line.index(word) for line in lines[1:] for word in [line.split()[1]]}
    assert all(line == line.rstrip() for line in lines)
    assert lines[0].index("name") in starts


def test_one_kind_is_listed_by_its_plural_or_singular_name() -> None:
    for kind, word in [("samplers", "sampler"), ("losses", "loss"), ("hooks", "hook")]:
        assert {row[0] for row in rows("--kind", kind)} <= {kind}
        assert rows("--kind", kind) == rows("--kind", word)
    assert {row[1] for row in rows("--kind", "sampler")} == {"identity", "random"}


@pytest.mark.parametrize("spelling", ["reid-core", "Reid_Core", "reid.core"])
def test_one_distribution_is_listed_however_it_is_spelled(spelling: str) -> None:
    assert {row[2] for row in rows("--dist", spelling)} == {"reid-core"}


def test_filters_combine() -> None:
    found = rows("--dist", "reid-core", "--kind", "optimizers")
    assert [row[1] for row in found] == ["adam", "adamw", "sgd"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kind", "samplr"], "error: --kind samplr: no such kind; did you mean samplers? (known"),
        (["--kind", "zzz"], f"error: --kind zzz: no such kind (known: {', '.join(KINDS)})"),
        (["--kind", ""], "error: --kind : no such kind (known: "),
        (["--dist", "reid-cor"], "error: --dist reid-cor: provides nothing here; did you mean reid-"
         "core? (those that do: "),
        (["--dist", "torch"], "error: --dist torch: provides nothing here"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_a_usage_error_with_what_would_have_worked(
    arguments: list[str], message: str
) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(message)


def test_json_holds_every_field_and_a_schema_number() -> None:
    result = run("--json", "--kind", "samplers", "--dist", "reid-core")
    parsed = json.loads(result.stdout)
    assert parsed["schema"] == 1
    first = parsed["components"][0]
    assert first.pop("version")
    assert isinstance(first.pop("editable"), bool)
    assert first == {
        "kind": "samplers",
        "name": "identity",
        "value": "reid_core.data.samplers.identity:IdentitySampler",
        "dist": "reid-core",
        "status": "ok",
        "needs": "",
    }


def test_an_empty_selection_is_an_empty_table(broken: None) -> None:
    result = run("--dist", "fake-a", "--kind", "losses")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 1
    result = run("--dist", "fake-a", "--kind", "losses", "--json")
    assert json.loads(result.stdout)["components"] == []


def test_listing_works_with_broken_plugins_and_shows_what_is_wrong(broken: None) -> None:
    assert {(row[1], row[2], row[4]) for row in rows("--kind", "heads") if "fake" in row[2]} == {
        ("shared", "fake-a", "conflict"),
        ("shared", "fake-b", "conflict"),
        ("only_a", "fake-a", "incompatible"),
        ("only_b", "fake-b", "ok"),
        ("odd_a", "fake-a", "bad-metadata"),
        ("odd_b", "fake-b", "bad-metadata"),
    }
    assert "fake_bomb" not in sys.modules
    parsed = json.loads(run("--json", "--dist", "fake-a").stdout)["components"]
    assert {entry["needs"] for entry in parsed} == {"reid-core>=99"}


def test_the_version_is_that_of_the_distribution() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    assert result.stdout.strip().endswith(installed().find("samplers", "identity").version)
