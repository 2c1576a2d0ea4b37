"""The first line of a table: which column is what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reid_core.data.datasets.how_to_set import how_to_set
from reid_core.errors import DataError, did_you_mean

#: Other names of columns, as OpenMetricLearning's tables have them.
_ALIASES = {"pid": ("label",)}
_REQUIRED = {"path": "the image's path", "pid": "the identity"}


def name_columns(
    found: Sequence[str], columns: Mapping[str, str | None] | None, *, what: str
) -> dict[str, str]:
    """Match the columns of a table with those of a manifest.

    Args:
        found: The names in the table, in order; one without a name is ignored.
        columns: What the table calls a column, by the name it has in a manifest; None stands for a
            column that is to be ignored.
        what: The data set and its file, for messages.

    Returns:
        The name in the table by the name in a manifest, in the table's order.

    Raises:
        DataError: A column is missing, or is there twice.
    """
    twice = sorted({name for name in found if name and found.count(name) > 1})
    if twice:
        raise DataError(f"{what}: there are two columns {twice[0]}; rename or remove one")
    renames = dict(columns or {})
    for ours, theirs in renames.items():
        name = ours if theirs is None else theirs
        if name not in found:
            says = "ignores" if theirs is None else f"says that {ours} is in"
            raise DataError(
                f"{what}: columns {says} the column {name}, which is not there"
                f"{did_you_mean(name, found)}; the columns are {', '.join(found)}"
            )
    for ours, others in _ALIASES.items():
        known = [name for name in others if name in found]
        if ours not in renames and ours not in found and known:
            renames[ours] = known[0]
    taken = {theirs for theirs in renames.values() if theirs is not None}
    named = {theirs: ours for ours, theirs in renames.items() if theirs is not None}
    result = {
        named.get(name, name): name
        for name in found
        if name and (name in taken or name not in renames)
    }
    missing = [ours for ours in _REQUIRED if ours not in result]
    if missing:
        raise DataError(_missing(missing, found, dict(columns or {}), what))
    return result


def _missing(
    missing: Sequence[str], found: Sequence[str], given: Mapping[str, str | None], what: str
) -> str:
    names = ", ".join(name for name in found if name) or "none"
    wanted = " and no column ".join(f"{ours}, {_REQUIRED[ours]}" for ours in missing)
    hint = did_you_mean(missing[0], found)
    # What was given is repeated: a second --param of one name replaces the first.
    columns = {**given, **dict.fromkeys(missing, "NAME")}
    return (
        f"{what}: there is no column {wanted}{hint}; the columns are "
        f"{names}; say which of them it is: {how_to_set('columns', columns)}"
    )
