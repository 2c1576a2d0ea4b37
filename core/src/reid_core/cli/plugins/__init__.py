"""``reid-plugins``: show, check and make plugins; one module a subcommand.

None of them imports torch or a plugin when it is imported itself.
"""

from __future__ import annotations

import click

from reid_core.cli.common import CONTEXT
from reid_core.cli.plugins.list import list_command

__all__ = ["main"]


@click.group(context_settings=CONTEXT)
@click.version_option(package_name="reid-core")
def main() -> None:
    """Show installed components and where they come from."""


main.add_command(list_command)
