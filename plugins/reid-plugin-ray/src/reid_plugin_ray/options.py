"""Options that the commands of ``reid-ray`` share."""

from __future__ import annotations

from collections.abc import Callable

import click

address_option: Callable[[Callable[..., None]], Callable[..., None]] = click.option(
    "--address",
    metavar="ADDRESS",
    default="local",
    show_default=True,
    help="Ray to work on: local starts one on this machine, auto takes the running cluster that "
    "this machine belongs to, and HOST:PORT names another.",
)
