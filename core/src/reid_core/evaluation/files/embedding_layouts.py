"""How files call what an evaluation needs: the layout of ours, and those of other tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reid_core.errors import DataError, did_you_mean

#: The columns that have a meaning of their own.
FEATURES, PIDS, CAMIDS, PATHS = "features", "pids", "camids", "paths"
#: What says to which side a row of a table belongs.
SPLIT = "split"

#: Other names of each column.
_ALIASES: Mapping[str, tuple[str, ...]] = {
    FEATURES: ("features", "feature", "feats", "feat", "f", "embeddings", "embedding"),
    PIDS: ("pids", "pid", "ids", "id", "labels", "label"),
    CAMIDS: ("camids", "camid", "cams", "cam", "cameras", "camera"),
    PATHS: ("paths", "path", "names", "name", "files", "file", "filenames", "img_paths"),
    SPLIT: ("split", "splits"),
}
_FIELD_OF = {alias: field for field, aliases in _ALIASES.items() for alias in aliases}
#: What a key of each side begins with.
_PREFIXES = {"query": ("query_", "q_"), "gallery": ("gallery_", "g_")}
#: Keys without an underline.
_SHORT = {"qf": ("query", FEATURES), "gf": ("gallery", FEATURES)}


def two_sided(
    keys: Iterable[str], *, source: str
) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
    """Find the columns of query and gallery among the keys of a file.

    Args:
        keys: The keys.
        source: The file, for messages.

    Returns:
        Key of each column, by ``query`` and ``gallery`` and then by name; and the keys that belong
        to neither.

    Raises:
        DataError: Two keys are one column, or features or pids are missing.
    """
    found: dict[str, dict[str, str]] = {"query": {}, "gallery": {}}
    strange = []
    keys = list(keys)
    for key in keys:
        place = _place(key)
        if place is None:
            strange.append(key)
            continue
        _put(found[place[0]], place[1], key, source)
    for side, columns in found.items():
        for field in (FEATURES, PIDS):
            if field not in columns:
                raise _missing(f"{side}_{field}", keys, source)
    return found, tuple(strange)


def one_table(keys: Iterable[str], *, source: str) -> dict[str, str]:
    """Find the columns of a table that has a row an image.

    Args:
        keys: The keys.
        source: The file, for messages.

    Returns:
        Key of each column by name.

    Raises:
        DataError: Two keys are one column, or features or pids are missing.
    """
    found: dict[str, str] = {}
    keys = list(keys)
    for key in keys:
        _put(found, _FIELD_OF.get(key.casefold(), key), key, source)
    for field in (FEATURES, PIDS):
        if field not in found:
            raise _missing(field, keys, source)
    return found


def is_one_table(keys: Iterable[str]) -> bool:
    """Say whether the keys are those of a table with a row an image."""
    folded = {key.casefold() for key in keys}
    return bool(folded & {*_ALIASES[SPLIT], *_ALIASES[FEATURES]})


def _place(key: str) -> tuple[str, str] | None:
    if key.casefold() in _SHORT:
        return _SHORT[key.casefold()]
    for side, prefixes in _PREFIXES.items():
        for prefix in prefixes:
            if key.casefold().startswith(prefix) and len(key) > len(prefix):
                name = key[len(prefix) :]
                return side, _FIELD_OF.get(name.casefold(), name)
    return None


def _put(found: dict[str, str], field: str, key: str, source: str) -> None:
    if field in found:
        raise DataError(
            f"{source}: {found[field]} and {key} are both the column {field}; keep one of them"
        )
    found[field] = key


def _missing(wanted: str, keys: list[str], source: str) -> DataError:
    hint = did_you_mean(wanted, keys)
    return DataError(
        f"{source} has no {wanted}{hint}; it has {', '.join(keys) or 'nothing'}; expected "
        "query_features, query_pids, gallery_features, gallery_pids (and …_camids where cameras "
        "are known), or one table of split, features, pids, camids"
    )
