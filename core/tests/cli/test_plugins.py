from __future__ import annotations

import json
import sys
from collections.abc import Callable
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
    table, _, _ = result.stdout.partition("\n\n")
    return [line.split() for line in table.splitlines()[1:]]


def footer(*arguments: str) -> str:
    return run(*arguments).stdout.splitlines()[-1]


Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """A function that puts a distribution behind those it put there before."""
    roots: list[str] = []
    original = list(sys.path)

    def run(dist: str, entry_points: str, *, version: str = "1.0", requires: str = "torch") -> Path:
        root = tmp_path / f"site{len(roots)}"
        info = root / f"{dist.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        head = f"Metadata-Version: 2.1\nName: {dist}\nVersion: {version}\n"
        (info / "METADATA").write_text(f"{head}Requires-Dist: {requires}\n")
        (info / "entry_points.txt").write_text(entry_points)
        roots.append(str(root))
        monkeypatch.setattr(sys, "path", [*roots, *original])
        return root

    return run


@pytest.fixture
def broken(install: Install) -> None:
    """Two distributions whose modules cannot be imported and whose metadata is odd."""
    for dist, requires in (("fake-a", "reid-core>=99"), ("fake-b", "torch")):
        entries = "[reid_core.heads]\nshared = fake_bomb:Part\n"
        entries += f"only_{dist[-1]} = fake_bomb:Part\nodd_{dist[-1]} = not an import\n"
        root = install(dist, entries, requires=requires)
        (root / "fake_bomb.py").write_text("raise SystemExit(3)\n")


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
    lines = run().stdout.partition("\n\n")[0].splitlines()
    starts = {line.index(word) for line in lines[1:] for word in [line.split()[1]]}
    assert all(line == line.rstrip() for line in lines)
    assert lines[0].index("name") in starts


def test_one_kind_is_listed_by_its_plural_or_singular_name() -> None:
    for kind, word in [("samplers", "sampler"), ("losses", "loss"), ("hooks", "hook")]:
        assert {row[0] for row in rows("--kind", kind)} <= {kind}
        assert rows("--kind", kind) == rows("--kind", word)
    assert {row[1] for row in rows("--kind", "sampler")} >= {"identity", "random"}


@pytest.mark.parametrize("spelling", ["reid-core", "Reid_Core", "reid.core"])
def test_one_distribution_is_listed_however_it_is_spelled(spelling: str) -> None:
    assert {row[2] for row in rows("--dist", spelling)} == {"reid-core"}


def test_filters_combine() -> None:
    found = rows("--dist", "reid-core", "--kind", "optimizers")
    names = [row[1] for row in found]
    assert {"adam", "adamw", "sgd"} <= set(names)
    assert "lamb" not in names, "it is another distribution's"


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
    (first,) = [one for one in parsed["components"] if one["name"] == "identity"]
    assert first.pop("version")
    assert isinstance(first.pop("editable"), bool)
    assert first == {
        "kind": "samplers",
        "name": "identity",
        "value": "reid_core.data.samplers.identity:IdentitySampler",
        "dist": "reid-core",
        "status": "ok",
        "needs": "",
        "detail": "",
        "alias_of": "",
        "deprecated": False,
    }


def test_an_empty_selection_is_an_empty_table(broken: None) -> None:
    result = run("--dist", "fake-a", "--kind", "losses")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1:] == ["", "0 components of 0 distributions"]
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


def test_a_last_column_says_what_is_wrong_where_something_is(broken: None) -> None:
    lines = run("--dist", "fake-a").stdout.splitlines()
    assert lines[0].endswith("  status        detail")
    ends = {line.split()[1]: line.partition(line.split()[4])[2].strip() for line in lines[1:4]}
    core = installed().find("samplers", "identity").version
    assert ends == {
        "only_a": f"needs reid-core>=99, found {core}",
        "shared": f"needs reid-core>=99, found {core}; also in fake-b",
        "odd_a": "'not an import' is no 'module:attribute'",
    }
    assert "detail" not in run("--dist", "reid-core").stdout


def test_the_footer_counts_the_rows(broken: None) -> None:
    for arguments in ([], ["--kind", "heads"], ["--dist", "fake-a"]):
        listed = rows(*arguments)
        dists = {row[2] for row in listed}
        counted = f"{len(dists)} distribution{'' if len(dists) == 1 else 's'}"
        assert footer(*arguments) == f"{len(listed)} components of {counted}"


def test_a_package_with_two_entry_points_counts_two(install: Install) -> None:
    install("fake-a", "[reid_core.heads]\na = m:A\n[reid_core.losses]\nb = m:B\n")
    assert footer("--dist", "fake-a") == "2 components of 1 distribution"


def test_second_copies_and_old_names_are_shown_on_demand(install: Install) -> None:
    text = "[reid_core.heads]\npart = m:Part\n[reid_core.aliases]\nheads.piece = part\n"
    first = install(
        "fake-a", f"{text}[reid_core.deprecated_aliases]\nheads.old = part\n", version="2.0"
    )
    install("fake-a", text, version="1.0")
    assert [row[1] for row in rows("--dist", "fake-a")] == ["part", "piece"]
    assert footer("--dist", "fake-a") == "2 components of 1 distribution; 3 not shown, see --all"
    lines = run("--dist", "fake-a", "--all").stdout.splitlines()
    assert [line.split()[1:] for line in lines[1:6]] == [
        ["old", "fake-a", "2.0", "ok", "old", "name", "of", "part"],
        ["part", "fake-a", "2.0", "ok"],
        ["part", "fake-a", "1.0", "shadowed", "fake-a", "2.0", "in", str(first), "is", "used"],
        ["piece", "fake-a", "2.0", "ok", "stands", "for", "part"],
        ["piece", "fake-a", "1.0", "shadowed", "fake-a", "2.0", "in", str(first), "is", "used"],
    ]
    assert lines[-1] == "5 components of 1 distribution"


def test_json_has_what_the_table_has(install: Install) -> None:
    text = "[reid_core.heads]\npart = m:Part\n[reid_core.deprecated_aliases]\nheads.old = part\n"
    install("fake-a", text)
    for options, names in (([], ["part"]), (["--all"], ["old", "part"])):
        parsed = json.loads(run("--dist", "fake-a", "--json", *options).stdout)
        assert [entry["name"] for entry in parsed["components"]] == names
    assert parsed["components"][0]["alias_of"] == "part"
    assert parsed["components"][0]["deprecated"] is True


def test_metadata_that_cannot_be_read_is_one_line_and_no_failure(install: Install) -> None:
    root = install("reid-plugin-x", "[reid_core.heads]\npart = m:Part\n", version="0.2")
    (root / "reid_plugin_x-0.1.dist-info").mkdir()
    result = run("--dist", "reid-plugin-x")
    assert result.exit_code == 0
    assert result.stderr == (
        f"warning: {root}/reid_plugin_x-0.1.dist-info holds no METADATA; delete that folder, or "
        "reinstall its distribution\n"
    )
    assert "0.2" in result.stdout
    json.loads(run("--json").stdout)


@pytest.mark.parametrize(
    ("name", "value"),
    [("REID_NO_PLUGINS", "1"), ("REID_DISABLE_PLUGINS", "fake_a, nobody, reid-core")],
)
def test_a_switch_never_fails_the_list_and_shows_in_it(
    install: Install, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    install("fake-a", "[reid_core.heads]\npart = m:Part\n")
    monkeypatch.setenv(name, value)
    (row,) = rows("--dist", "fake-a")
    assert row[4:] == ["disabled", "by", name]
    assert {row[-1] for row in rows("--dist", "reid-core")} == {"ok"}


def test_the_version_is_that_of_the_distribution() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    assert result.stdout.strip().endswith(installed().find("samplers", "identity").version)
