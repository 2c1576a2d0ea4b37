"""How an error becomes a message and an exit code, for all commands alike."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner, Result

from reid_core.cli.common import no_plugins_option, reports_errors, with_no_plugins
from reid_core.errors import (
    CheckpointError,
    DataError,
    Interrupted,
    PluginError,
    ReidError,
    TrainingError,
)
from reid_core.plugins.switches import active_switches


def run(error: BaseException | None = None, code: int = 0) -> Result:
    @click.command()
    @reports_errors
    def command() -> int:
        """Help of the command."""
        if error is not None:
            raise error
        return code

    return CliRunner().invoke(command)


@pytest.mark.parametrize("code", [0, 5, 143])
def test_a_command_leaves_with_the_code_it_returns(code: int) -> None:
    result = run(code=code)
    assert (result.exit_code, result.output) == (code, "")


@pytest.mark.parametrize(
    ("error", "code"),
    [(ReidError, 1), (TrainingError, 1), (DataError, 3), (PluginError, 4)],
)
def test_a_users_mistake_is_one_message_and_its_code(error: type[ReidError], code: int) -> None:
    result = run(error("what\nand where"))
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr == "error: what\nand where\n"


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_a_signal_ended_leaves_with_the_shells_code(signum: int, code: int) -> None:
    result = run(Interrupted(signum))
    assert result.exit_code == code
    assert result.stderr.startswith("error: interrupted by SIG")


def test_notes_of_an_error_are_printed_below_it() -> None:
    error = TrainingError("what")
    error.add_note("a checkpoint was written")
    assert run(error).stderr == "error: what\n  a checkpoint was written\n"


def test_a_defect_keeps_its_traceback() -> None:
    result = run(ZeroDivisionError("ours"))
    assert isinstance(result.exception, ZeroDivisionError)
    assert result.exit_code == 1


def test_a_group_of_mistakes_is_told_one_by_one_without_a_traceback() -> None:
    first = CheckpointError("no room for the checkpoint")
    first.add_note("make some")
    full = OSError(errno.ENOSPC, "No space left on device", "report.html")
    result = run(BaseExceptionGroup("after_train failed", [first, full]))
    assert result.exit_code == 1
    assert result.stderr == (
        "error: no room for the checkpoint\n  make some\n"
        "error: [Errno 28] No space left on device: 'report.html'\n"
    )


def test_a_group_that_holds_a_defect_keeps_its_traceback() -> None:
    group = BaseExceptionGroup("both", [CheckpointError("x"), ZeroDivisionError("ours")])
    result = run(group)
    assert result.exception is group


def test_a_full_disk_is_told_and_a_missing_file_of_ours_is_a_defect() -> None:
    full = run(OSError(errno.ENOSPC, "No space left on device", "x.json"))
    assert (full.exit_code, full.stderr) == (
        1,
        "error: [Errno 28] No space left on device: 'x.json'\n",
    )
    assert isinstance(run(FileNotFoundError("x")).exception, FileNotFoundError)


def test_an_interrupt_gives_130() -> None:
    result = run(KeyboardInterrupt())
    assert (result.exit_code, result.stderr) == (130, "interrupted\n")


def test_a_usage_error_of_click_stays_what_it_is() -> None:
    result = run(click.UsageError("wrong"))
    assert result.exit_code == 2
    assert "Error: wrong" in result.stderr


def test_the_help_of_a_command_survives() -> None:
    @reports_errors
    def command() -> int:
        """Help of the command."""
        return 0

    assert command.__doc__ == "Help of the command."
    assert command.__name__ == "command"


def test_a_reader_that_has_gone_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    code = "from reid_core.cli.plugins import main; main()"
    # Buffered, as on a user's machine: the flush at exit must not fail either.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [sys.executable, "-c", code, "list"],
        env=environment,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("options", [[], ["--no-plugins"]])
def test_an_option_leaves_plugins_out_for_as_long_as_the_command_runs(options: list[str]) -> None:
    seen: list[tuple[bool, list[str]]] = []

    @click.command()
    @no_plugins_option
    @click.option("--needed", required=True)
    @reports_errors
    def command(no_plugins: bool, needed: str) -> int:
        seen.append((no_plugins, [switch.source for switch in active_switches()]))
        raise PluginError(needed)

    result = CliRunner().invoke(command, [*options, "--needed", "x"])
    assert result.exit_code == 4
    assert seen == [(bool(options), options)]
    assert CliRunner().invoke(command, options).exit_code == 2
    assert active_switches() == ()


def test_the_option_is_the_last_of_the_settings() -> None:
    assert with_no_plugins(["plugins.disable=[]"], False) == ["plugins.disable=[]"]
    assert with_no_plugins(("plugins.disable=[]",), True) == [
        "plugins.disable=[]",
        "plugins.disable=['*']",
    ]
