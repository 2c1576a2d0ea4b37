"""``reid-data``: look at data sets, check, convert and cut them; one module a subcommand.

None of them imports torch or a data set when it is imported itself.
"""

from __future__ import annotations

import click

from reid_core.cli.common import CONTEXT
from reid_core.cli.data.check import check_command
from reid_core.cli.data.convert import convert_command
from reid_core.cli.data.pack import pack_command
from reid_core.cli.data.preview import preview_command
from reid_core.cli.data.sample import sample_command
from reid_core.cli.data.split import split_command
from reid_core.cli.data.stats import stats_command

__all__ = ["main"]


@click.group(context_settings=CONTEXT)
@click.version_option(package_name="reid-core")
def main() -> None:
    """Look at data sets, check, convert and cut them.

    SOURCE is a recipe's name or YAML file, or the path of a data set: a folder, or a file that ends
    in .csv, .parquet or .json. --dataset NAME says which component reads it.
    """


main.add_command(check_command)
main.add_command(stats_command)
main.add_command(preview_command)
main.add_command(convert_command)
main.add_command(split_command)
main.add_command(sample_command)
main.add_command(pack_command)
