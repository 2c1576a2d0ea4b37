"""``reid-plugins``: show, check and make plugins; one module a subcommand.

None of them imports torch or a plugin when it is imported itself.
"""

from __future__ import annotations

import click

from reid_core.cli.common import CONTEXT
from reid_core.cli.plugins.check import check_command
from reid_core.cli.plugins.list import list_command
from reid_core.cli.plugins.new import new_command
from reid_core.cli.plugins.show import show_command

__all__ = ["main"]


@click.group(context_settings=CONTEXT)
@click.version_option(package_name="reid-core")
def main() -> None:
    """Show, check and make plugins."""


main.add_command(list_command)
main.add_command(new_command)
main.add_command(show_command)
main.add_command(check_command)
