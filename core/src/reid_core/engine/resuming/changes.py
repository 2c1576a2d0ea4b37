"""A configuration that is not the one a run was made with, and the decision that this takes."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from reid_core.checkpoint.folder import saved_entry
from reid_core.checkpoint.weights import require_file
from reid_core.config import Config
from reid_core.config.load import config_from_plain
from reid_core.engine.record.run_folder import RunFolder
from reid_core.errors import ConfigError, UsageError

log = logging.getLogger("reid_core")

#: What to do with a changed configuration: go on with what it says now, or as the run was.
Decision = Literal["use", "drop"]

#: Settings that tell nothing about the run itself.
_SILENT = ("output", "description")
#: Settings whose change needs no decision: where and how the same is computed, and what is shown.
_HARMLESS = (
    *_SILENT,
    "device",
    "data.workers",
    "data.start_method",
    "train.log_every",
    "train.distributed.backend",
    "train.distributed.timeout_minutes",
    "train.distributed.find_unused_parameters",
    # Read once, when the run began.
    "train.init_from",
    "evaluate.details",
    "plugins.require",
)


@dataclass(frozen=True)
class Change:
    """One setting that differs.

    Args:
        path: Where it stands, with dots.
        was: Its value in the checkpoint; None where it had none.
        now: Its value now; None where it has none.
    """

    path: str
    was: object
    now: object

    @property
    def is_harmless(self) -> bool:
        """Whether it needs no decision."""
        return self.path in _HARMLESS


def changes_of(saved: Mapping[str, object], config: Config) -> list[Change]:
    """Return every setting that differs from a saved configuration, sorted by path.

    A setting that came with a newer version of the core, and has its default, is no change.

    Args:
        saved: A configuration as plain types.
        config: The current one.
    """
    return [Change(path, was, now) for path, now, was in differences(_completed(saved), config)]


def settled_config(
    config: Config, resume: str | Path | None, folder: RunFolder, decision: Decision | None
) -> Config:
    """Decide, before data is read, which configuration a resumed run goes on with.

    Args:
        config: What is asked for now.
        resume: As in :meth:`DefaultTrainer.resume_or_load`.
        folder: The run folder of this training.
        decision: What to do with changes; None is to be asked.

    Returns:
        ``config``, or with ``drop`` that of the checkpoint with the harmless changes of ``config``.

    Raises:
        UsageError: There are changes and no decision, or a decision and nothing to resume.
        CheckpointError: ``resume`` names no file.
    """
    if resume is None:
        if decision is not None:
            raise UsageError(
                f"--changes {decision} is about a run that is resumed; name it by --resume"
            )
        return config
    found = _find_saved(resume, folder)
    if found is None:
        return config
    path, saved = found
    changes = changes_of(saved, config)
    require_decision(changes, decision, source=path)
    if decision != "drop" or all(change.is_harmless for change in changes):
        return config
    for change in changes:
        if not change.is_harmless:
            log.warning("resume: %s stays %r; %r is dropped", change.path, change.was, change.now)
    return _dropped(saved, config, source=str(path))


def require_decision(changes: Sequence[Change], decision: Decision | None, *, source: Path) -> None:
    """Refuse to go on with changes that nobody has decided about.

    Args:
        changes: All changes.
        decision: What was decided.
        source: The checkpoint.

    Raises:
        UsageError: There is a change that is not harmless, and no decision.
    """
    open_ones = [change for change in changes if not change.is_harmless]
    if decision is not None or not open_ones:
        return
    lines = [f"  {change.path}: was {change.was!r}, is {change.now!r} now" for change in open_ones]
    hint = ""
    if any(change.path == "train.epochs" for change in open_ones):
        hint = " (a schedule that ends with the run is stretched to the new number of epochs)"
    raise UsageError(
        f"the configuration is not the one that {source} was made with:\n"
        + "\n".join(lines)
        + f"\nto go on with what it says now, add --changes use{hint}; to go on as the run was, "
        'add --changes drop (in Python: resume_or_load(…, changes="use"))'
    )


def report_changes(changes: Sequence[Change]) -> None:
    """Warn of every change that is used."""
    for change in changes:
        if change.path not in _SILENT:
            log.warning(
                "resume: %s is %r now, was %r in the checkpoint",
                change.path,
                change.now,
                change.was,
            )


def refuse_drop(changes: Sequence[Change], *, source: Path) -> None:
    """Refuse to drop changes of what is built already.

    Raises:
        UsageError: There are some.
    """
    paths = [change.path for change in changes if not change.is_harmless]
    if paths:
        raise UsageError(
            'changes="drop" comes too late: the trainer is built with other settings than '
            f"{source} has ({', '.join(paths)}); build it with the configuration of the run, "
            "load_config('RUN/config.yaml')"
        )


def differences(
    saved: Mapping[str, object], config: Config
) -> Iterator[tuple[str, object, object]]:
    """Yield every setting that differs from a saved configuration.

    Args:
        saved: A configuration as plain types.
        config: The current one.

    Yields:
        Dotted path, value now, value then; None where there is none.
    """
    then, now = dict(_leaves(dict(saved))), dict(_leaves(config.plain()))
    for path in sorted({*then, *now}):
        if then.get(path) != now.get(path):
            yield path, now.get(path), then.get(path)


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, dict) and value:
        for key, child in value.items():
            yield from _leaves(child, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value:
        for position, child in enumerate(value):
            yield from _leaves(child, f"{path}.{position}")
    else:
        yield path, value


def _completed(saved: Mapping[str, object]) -> Mapping[str, object]:
    """Fill in the defaults of settings that the version which saved it did not have."""
    try:
        return config_from_plain(saved, source="checkpoint").plain()
    except ConfigError:
        # A setting of another version; what it is called is among the differences then.
        return saved


def _find_saved(resume: str | Path, folder: RunFolder) -> tuple[Path, Mapping[str, object]] | None:
    if resume == "auto":
        paths = folder.checkpoints.paths()
    else:
        path = Path(resume).expanduser()
        if path.is_dir():
            paths = RunFolder(path).checkpoints.paths()
        else:
            paths = [require_file(path, what="checkpoint")]
    for path in paths:
        saved = saved_entry(path, "config")
        if isinstance(saved, dict):
            return path, saved
    return None


def _dropped(saved: Mapping[str, object], config: Config, *, source: str) -> Config:
    plain = deepcopy(dict(saved))
    for path in _HARMLESS:
        *sections, name = path.split(".")
        value: object = config.plain()
        for key in (*sections, name):
            value = cast("dict[str, object]", value)[key]
        place = plain
        for key in sections:
            place = cast("dict[str, object]", place.setdefault(key, {}))
        place[name] = value
    dropped = config_from_plain(plain, source=source)
    dropped._name = config.name
    return dropped
