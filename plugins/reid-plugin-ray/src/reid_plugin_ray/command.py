"""``reid-ray``: many runs, or many images, on the machines of a Ray cluster."""

from __future__ import annotations

import click

from reid_core.cli.common import CONTEXT
from reid_plugin_ray.embed_command import embed_command
from reid_plugin_ray.tune_command import tune_command


@click.group(context_settings=CONTEXT)
@click.version_option(package_name="reid-plugin-ray")
def main() -> None:
    """Try settings, and embed large data sets, on one machine or on a Ray cluster."""


main.add_command(tune_command)
main.add_command(embed_command)
