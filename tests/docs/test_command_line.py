"""The help texts on the page are those of the commands."""

from __future__ import annotations

from typing import get_args

import click
import pytest
from click.testing import CliRunner

from reid_core.cli import config, data, evaluate, plugins, train
from reid_core.plugins.component_ref import Status

COMMANDS = {
    "reid-train": train.main,
    "reid-eval": evaluate.main,
    "reid-config": config.main,
    "reid-data": data.main,
    "reid-plugins": plugins.main,
}


def every_help():
    """Return each command line that shows a help text."""
    lines = []
    for name, command in COMMANDS.items():
        lines.append([name, "--help"])
        if isinstance(command, click.Group):
            lines += [[name, sub, "--help"] for sub in command.commands]
    return lines


@pytest.mark.parametrize("words", every_help(), ids=" ".join)
def test_the_page_shows_the_help_text(words, page):
    name, *arguments = words
    # On a terminal of 80 columns click leaves 2 of them free.
    result = CliRunner().invoke(COMMANDS[name], arguments, prog_name=name, terminal_width=78)
    blocks = [block.text.partition("\n") for block in page("docs/command_line.md").blocks("text")]
    shown = {first: rest for first, _, rest in blocks}
    assert shown.get(f"$ {' '.join(words)}", "").strip() == result.output.strip()


def test_the_page_has_every_status_of_the_list(page):
    rows = page("docs/command_line.md").section("reid-plugins").tables()[0][1]
    assert {cells[0].strip("`") for cells in rows} == set(get_args(Status))
