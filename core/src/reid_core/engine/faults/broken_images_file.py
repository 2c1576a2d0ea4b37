"""``broken_images.json``: the images that a run went on without."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from reid_core.checkpoint.atomic import write_text_atomically
from reid_core.data.loader import TrainLoader
from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from reid_core.engine.default_trainer import DefaultTrainer

log = logging.getLogger("reid_core")

NAME = "broken_images.json"

_Entry = dict[str, object]
#: What tells entries apart.
_IDENTITY = ("use", "dataset", "row", "path")


class BrokenImagesFile:
    """Lists broken images in the run folder as they are met; a hook of runs that skip them.

    A run that is resumed keeps what its earlier part listed. Without broken images there is no
    file. What other processes met in training is added at the end of each epoch.
    """

    def __init__(self) -> None:
        self._earlier: list[_Entry] = []
        self._others: list[_Entry] = []
        self._num_written = 0

    @hookimpl
    def before_train(self, trainer: DefaultTrainer) -> None:
        """Read what an earlier part of the run listed; a new run begins without."""
        if not trainer.is_first:
            return
        path = trainer.folder.path / NAME
        if trainer.start_iter > 0:
            self._earlier = _read(path)
        else:
            path.unlink(missing_ok=True)

    @hookimpl
    def after_step(self, trainer: DefaultTrainer) -> None:
        """Write the file anew if an image was replaced since."""
        self._update(trainer)

    @hookimpl
    def after_epoch(self, trainer: DefaultTrainer) -> None:
        """Let the first process know what the others met."""
        if trainer.processes.count > 1:
            own = [] if trainer.is_first else _met_in_training(trainer)
            self._others = trainer.processes.gather(own)
            self._update(trainer)

    @hookimpl
    def after_eval(self, trainer: DefaultTrainer) -> None:
        """Write the file anew if a test image was left out."""
        self._update(trainer)

    @hookimpl(tryfirst=True)
    def after_train(self, trainer: DefaultTrainer) -> None:
        """Write what the last batches met, and say how many there were."""
        if not trainer.is_first:
            return
        self._update(trainer)
        entries = self._entries(trainer)
        if entries:
            replaced = sum(entry["use"] == "train" for entry in entries)
            log.warning(
                "%d broken images: %d replaced in training, %d left out of tests; listed in %s",
                len(entries),
                replaced,
                len(entries) - replaced,
                trainer.folder.path / NAME,
            )

    def _update(self, trainer: DefaultTrainer) -> None:
        num_met = _num_met(trainer) + len(self._others)
        if num_met == self._num_written or not trainer.is_first:
            return
        text = json.dumps(
            {"schema": 1, "images": self._entries(trainer)}, indent=2, ensure_ascii=False
        )
        write_text_atomically(trainer.folder.path / NAME, text + "\n")
        self._num_written = num_met

    def _entries(self, trainer: DefaultTrainer) -> list[_Entry]:
        entries: dict[tuple[object, ...], _Entry] = {}
        for entry in [*self._earlier, *_met(trainer), *self._others]:
            entries.setdefault(tuple(entry.get(key) for key in _IDENTITY), entry)
        return list(entries.values())


def _num_met(trainer: DefaultTrainer) -> int:
    loader = trainer.data_loader
    in_training = len(loader.broken) if isinstance(loader, TrainLoader) else 0
    return in_training + sum(len(evaluator.broken) for evaluator in trainer.evaluators)


def _met(trainer: DefaultTrainer) -> Iterator[_Entry]:
    yield from _met_in_training(trainer)
    for evaluator in trainer.evaluators:
        for image in evaluator.broken:
            yield {"use": "test", **asdict(image)}


def _met_in_training(trainer: DefaultTrainer) -> list[_Entry]:
    loader = trainer.data_loader
    found = loader.broken if isinstance(loader, TrainLoader) else ()
    return [{"use": "train", **asdict(image)} for image in found]


def _read(path: Path) -> list[_Entry]:
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))["images"]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("%s cannot be read, and is begun anew: %r", path, error)
        return []
    return [entry for entry in listed if isinstance(entry, dict)]
