"""What the ``reid-data`` commands that write a table have in common."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reid_core.cli.data.source import SourceArguments, read_source
from reid_core.errors import DataError, UsageError

if TYPE_CHECKING:
    from reid_core.data.manifest import Manifest

#: Text that YAML reads as it is, inside of braces too.
_PLAIN = re.compile(r"[A-Za-z_./][\w./-]*", re.ASCII)

output_option: Callable[[Callable[..., None]], Callable[..., None]] = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    required=True,
    help="Table to write; ends in .csv or .parquet.",
)
force_option: Callable[[Callable[..., None]], Callable[..., None]] = click.option(
    "--force", is_flag=True, help="Write over what is there."
)


def require_free(path: Path, *, force: bool, option: str = "-o") -> None:
    """Check that writing a file or into a folder loses nothing.

    Raises:
        UsageError: There is something, and nobody said that it can go.
    """
    if path.is_dir() and option == "-o":
        raise UsageError(f"{option} {path}: this is a folder; name a file")
    is_used = any(path.iterdir()) if path.is_dir() else path.exists()
    if is_used and not force:
        raise UsageError(
            f"{option} {path} is there already; another name, or --force to replace it"
        )


def read_one(source: SourceArguments) -> Manifest:
    """Read the one data set that SOURCE names, with images in it.

    Raises:
        UsageError: It names several.
        DataError: It has no images.
    """
    return only_one(read_source(source), source)


def only_one(manifests: Sequence[Manifest], source: SourceArguments) -> Manifest:
    """Return the one data set that was read, with images in it.

    Identities of several sets would have to be renamed to share a table; joining them is what a
    recipe with a list of sets is for.

    Raises:
        UsageError: It names several.
        DataError: It has no images.
    """
    if len(manifests) > 1:
        named = ", ".join(manifest.name for manifest in manifests)
        raise UsageError(
            f"{source.source} names {len(manifests)} data sets ({named}), and a table holds one: "
            "give the path of one of them; a recipe joins the tables, as a list in data.train"
        )
    manifest = manifests[0]
    if len(manifest) == 0:
        raise DataError(f"data set {manifest.name} ({manifest.root}) has no images")
    return manifest


def echo_notes(manifest: Manifest, warnings: Sequence[str] = ()) -> None:
    """Print what the reader noted, and warnings, to standard error."""
    for note in manifest.notes:
        click.echo(f"note: {note}", err=True)
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)


def as_component(path: Path, manifest: Manifest) -> str:
    """Return a table as a component in YAML, as ``--set data.train=…`` takes it."""
    reader = path.suffix.lower().removeprefix(".")
    text = path.as_posix()
    quoted = text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
    nobody = sorted(set(manifest.distractors) & set(manifest.pids.tolist()))
    named = f", distractors: {nobody}" if nobody else ""
    return f"{{name: {reader}, file: {quoted}{named}}}"


def train_command(path: Path, manifest: Manifest) -> str:
    """Return a command line that trains on a table."""
    setting = shlex.quote(f"data.train={as_component(path, manifest)}")
    return f"reid-train --config osnet/osnet_x0_25 --set {setting}"


def summary_line(path: Path, manifest: Manifest) -> str:
    """Say what was written."""
    return f"{path}: {manifest.summary().partition(': ')[2]}"


def plain_counts(manifest: Manifest) -> dict[str, dict[str, int]]:
    """Return images and identities by split, for JSON."""
    from reid_core.data.manifest import SPLITS

    return {split: manifest.count(split)._asdict() for split in SPLITS}
