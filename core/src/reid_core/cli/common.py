"""What all commands share: options, and the way an error becomes a message and an exit code."""

from __future__ import annotations

import os
import select
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import ParamSpec

import click

from reid_core.distributed.told_once import is_told_by_first
from reid_core.errors import ReidError, UsageError
from reid_core.plain_errors import plain_errors
from reid_core.plugins.index import disabled_plugins
from reid_core.plugins.local_files import load_plugin_file
from reid_core.plugins.switches import ALL

P = ParamSpec("P")

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

config_option = click.option(
    "-c",
    "--config",
    "config_name",
    metavar="FILE|NAME",
    help="Recipe: a YAML file, or the name of one that a package ships, such as osnet/osnet_x0_25.",
)
set_option = click.option(
    "--set",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    help="Override a setting, e.g. --set optimizer.lr=1e-4. The value is YAML. Repeatable.",
)
device_option = click.option(
    "--device", metavar="D", help="auto (default), cpu, cuda, cuda:1, mps."
)
plugin_file_option = click.option(
    "--plugin-file",
    "plugin_files",
    metavar="FILE.py",
    multiple=True,
    help="Run this Python file first: what it registers can be named by the configuration. "
    "Repeatable.",
)


def no_plugins_option(command: Callable[P, None]) -> Callable[P, None]:
    """Add ``--no-plugins``, which holds for the whole of the command.

    A recipe is looked up before there is a config that could say so. The command takes the option
    as ``no_plugins``.
    """

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        names = [ALL] if kwargs.get("no_plugins") else []
        with disabled_plugins(names, source="--no-plugins"):
            command(*args, **kwargs)

    option = click.option(
        "--no-plugins",
        is_flag=True,
        help="Leave out every distribution but reid-core; the same as plugins.disable=['*'].",
    )
    return option(run)


def with_no_plugins(overrides: Sequence[str], no_plugins: bool) -> list[str]:
    """Return the overrides, with the setting that ``--no-plugins`` stands for as the last one."""
    return [*overrides, *([f"plugins.disable=['{ALL}']"] if no_plugins else [])]


def load_plugin_files(names: Sequence[str]) -> None:
    """Import local code, in the order of the command line.

    Raises:
        UsageError: A file is missing, or cannot be imported under its name.
        PluginError: Its code fails.
    """
    for name in names:
        load_plugin_file(name)


def refuse_extra_arguments(arguments: Sequence[str]) -> None:
    """Answer what other toolboxes take as arguments with the option that is meant here.

    Raises:
        UsageError: There are some.
    """
    if not arguments:
        return
    first = arguments[0]
    if first.endswith((".yaml", ".yml")) or (len(arguments) == 1 and "/" in first):
        hint = f"a recipe is named by an option: --config {first}"
    elif "=" in first:
        hint = f"a setting is given by an option: --set {shlex.quote(first)}"
    elif len(arguments) > 1 and first[:1].isupper():
        hint = "settings are given one by one: --set key=value ('reid-config show' lists the keys)"
    else:
        hint = "a value with spaces needs quotes: --set 'data.image_size=[128, 64]'"
    raise UsageError(f"unexpected argument {' '.join(arguments)!r}; {hint}")


def _reader_has_gone() -> bool:
    """Say whether nobody reads standard output any more."""
    if not hasattr(select, "poll"):
        return True  # on Windows; a broken pipe elsewhere has another error there
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return bool(poll.poll(0))


def _told_code(error: BaseException) -> int:
    """Print what is no defect, and return its exit code.

    Raises:
        BaseException: ``error`` itself; it is, or holds, a defect.
    """
    found = plain_errors(error)
    if not found:
        raise error
    text = "\n".join(
        "\n  ".join([f"error: {one}", *getattr(one, "__notes__", ())]) for one in found
    )
    if not is_told_by_first(text):
        click.echo(text, err=True)
    return int(getattr(found[0], "status_code", getattr(found[0], "exit_code", 1)))


def reports_errors(command: Callable[P, int]) -> Callable[P, None]:
    """Print a user's mistake without a traceback, and leave with the code that belongs to it.

    A ``ReidError`` gives its ``exit_code``, a signal 128 plus its number, a full disk 1; of several
    errors the first one gives it. Any other exception is a defect: it keeps its traceback and
    gives 1.
    """

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = command(*args, **kwargs)
        except (ReidError, BaseExceptionGroup) as error:
            code = _told_code(error)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            code = 128 + signal.SIGINT
        except BrokenPipeError:
            if not _reader_has_gone():
                raise  # some other pipe, a tracker's or a worker's: that is a failure
            # The reader (head, say) has gone; it has what it wanted. What is still buffered goes
            # nowhere, or Python's own flush at exit would fail and give another exit code.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        except OSError as error:
            code = _told_code(error)
        sys.exit(code)

    return run
