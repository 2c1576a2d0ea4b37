from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reid_core.cli.plugins import main
from reid_core.inspection.probe_records import ProbeResult
from reid_core.plugins.component_ref import ComponentRef
from reid_core.plugins.index import PluginIndex
from reid_core.testing.fake_dist import FakeSite

GOOD = """
from torch import nn
class Good(nn.Module):
    def forward(self, output, batch): return output
"""


@pytest.fixture
def fake_dist(tmp_path: Path) -> Iterator[FakeSite]:
    site = FakeSite(tmp_path / "fake_site")
    yield site
    site.uninstall()


@pytest.fixture
def without_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Components are not imported; each does well."""

    def probe_all(
        refs: Sequence[ComponentRef], *, timeout_seconds: float
    ) -> Generator[tuple[ComponentRef, ProbeResult], None, None]:
        for ref in refs:
            yield ref, ProbeResult(stage="done", import_seconds=0.004, is_built=True)

    monkeypatch.setattr("reid_core.inspection.inspect_plugins.probe_all", probe_all)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", *arguments])


def test_each_component_has_a_line_and_what_is_wrong_stands_below_it(fake_dist: FakeSite) -> None:
    root = fake_dist(
        "reid-plugin-x",
        {"losses": {"good": "reid_plugin_x:Good", "worse": "reid_plugin_x:Worse"}},
        modules={"reid_plugin_x.py": GOOD},
    )
    result = run("reid-plugin-x")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == f"reid-plugin-x 1.0, {root}"
    assert lines[1].startswith("  warning: the requirement on reid-core is missing")
    assert lines[2].startswith("  ok       loss good ")
    assert lines[2].endswith(" ms")
    assert lines[3] == "  fault    loss worse"
    assert lines[4].startswith(
        "           fault: loss 'worse' of reid-plugin-x 1.0 (reid_plugin_x:"
    )
    assert "has no attribute 'Worse'" in lines[4]
    assert lines[5] == "1 distribution, 2 components, 1 fault, 1 warning"


@pytest.mark.usefixtures("without_probes")
def test_warnings_alone_are_shown_and_give_no_error(fake_dist: FakeSite) -> None:
    fake_dist(
        "reid-plugin-x",
        {"losses": {"good": "reid_plugin_x:Good"}},
        requires=["reid-core>=0.1,<9"],
        modules={"reid_plugin_x.py": GOOD},
    )
    result = run("reid-plugin-x")
    assert result.exit_code == 0
    assert "warning: reid-core<9,>=0.1 has an upper limit" in result.stdout
    assert result.stdout.endswith("1 distribution, 1 component, no faults, 1 warning\n")


@pytest.mark.usefixtures("without_probes")
def test_json_holds_the_same_with_a_schema_number(fake_dist: FakeSite) -> None:
    fake_dist(
        "reid-plugin-x",
        {"losses": {"good": "reid_plugin_x:Good"}},
        requires=["reid-core>=0.1"],
        modules={"reid_plugin_x.py": GOOD},
    )
    result = run("reid-plugin-x", "--json")
    assert result.exit_code == 0
    parsed = json.loads(result.stdout)
    assert parsed["schema"] == 1
    (dist,) = parsed["distributions"]
    assert (dist["name"], dist["faults"], dist["warnings"]) == ("reid-plugin-x", 0, 0)
    (component,) = dist["components"]
    assert (component["verdict"], component["is_built"]) == ("ok", True)
    assert component["import_ms"] == 4


def test_the_process_of_a_probe_sees_what_the_command_sees(tmp_path: Path) -> None:
    site = FakeSite(tmp_path / "fake_site")
    root = site(
        "reid-plugin-x",
        {"losses": {"good": "reid_plugin_x:Good"}},
        requires=["reid-core>=0.1"],
        modules={"reid_plugin_x.py": GOOD},
    )
    site.uninstall()
    (tmp_path / "torch.py").write_text("raise SystemExit('the working folder was imported')\n")
    program = "from reid_core.cli.plugins import main; main(['check', 'reid-plugin-x'])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "ok       loss good" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["reid-cor"],
            "error: no distribution reid-cor is installed, and there is no such folder "
            "or file; did you mean reid-core?",
        ),
        (["./nothing"], "error: there is no ./nothing"),
        (["--timeout", "0", "torch"], "Invalid value for '--timeout'"),
        (["--timeout", "soon", "torch"], "Invalid value for '--timeout'"),
    ],
)
def test_a_wrong_argument_is_a_usage_error(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_a_hang_is_stopped_after_the_time_that_was_given(fake_dist: FakeSite) -> None:
    fake_dist(
        "reid-plugin-x",
        {"losses": {"slow": "reid_plugin_x:Slow"}},
        requires=["reid-core>=0.1"],
        modules={"reid_plugin_x.py": "import threading\nthreading.Event().wait()\n"},
    )
    result = run("reid-plugin-x", "--timeout", "0.5")
    assert result.exit_code == 1
    assert "was stopped after 0.5 s while it was imported" in result.stdout


def test_all_components_of_ours_pass_without_a_fault_or_a_warning() -> None:
    ours = sorted({ref.dist for ref in PluginIndex.scan().refs if ref.editable})
    result = run(*ours)
    assert result.exit_code == 0, result.stdout
    assert result.stdout.endswith(", no faults, no warnings\n"), result.stdout
    assert "skipped" not in result.stdout


@pytest.mark.parametrize("command", ["check", "show"])
def test_help_answers_without_torch(command: str) -> None:
    program = (
        "import sys\nfrom reid_core.cli.plugins import main\n"
        f"try: main(['{command}', '--help'])\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'numpy', 'rich', 'reid_core.inspection'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stderr == "[]\n"
