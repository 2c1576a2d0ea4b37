"""Reading a data set whose own splits are of no interest, since it is cut anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from reid_core.cli.data.output import only_one
from reid_core.cli.data.source import OpenedSource, SourceArguments, open_source, read_components
from reid_core.config.components import Component

if TYPE_CHECKING:
    from reid_core.data.manifest import Manifest


def read_without_splits(source: SourceArguments) -> Manifest:
    """Read the one data set that SOURCE names, whatever its splits are called.

    Splits that are understood stay in the manifest, and rows that ``splits`` leaves out are not in
    it. Those that are not understood count as training; a note says so.

    Raises:
        UsageError: SOURCE names several sets.
        DataError: The set cannot be read, or has no images.
    """
    from reid_core.data.datasets.split_names import SplitsError

    opened = open_source(source)
    try:
        return only_one(read_components(opened), source)
    except SplitsError as error:
        aside = _with(opened, error.aside)
        if aside is None:
            raise
        manifest = only_one(read_components(aside), source)
        return replace(manifest, notes=(*manifest.notes, _note(error.aside)))


def _with(
    opened: OpenedSource, aside: Mapping[str, Mapping[str, str | None]]
) -> OpenedSource | None:
    """Return the source with further entries in its one set's parameters; None for several sets."""
    named = [*opened.train, *(one for one in opened.test if one not in opened.train)]
    if len(named) != 1 or not aside:
        return None
    call = named[0].as_call()
    for parameter, entries in aside.items():
        given = call.get(parameter)
        call[parameter] = {**(given if isinstance(given, dict) else {}), **entries}
    sets = (Component.model_validate(call),)
    return OpenedSource(opened.config, sets, sets)


def _note(aside: Mapping[str, Mapping[str, str | None]]) -> str:
    names = ", ".join(name for entries in aside.values() for name in entries)
    what = "splits of the data" if "splits" in aside else "columns of splits"
    return f"{what} left aside, since they are not understood: {names}"
