"""The base class of trackers: what sends the numbers of a run to somewhere else."""

from __future__ import annotations

import functools
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from reid_core.engine.outcome import Status
from reid_core.errors import ConfigError
from reid_core.hookspecs import hookimpl
from reid_core.tracking.run_info import RunInfo
from reid_core.tracking.secrets import holds_secrets
from reid_core.tracking.sender import Sender
from reid_core.tracking.tags import tag_of

if TYPE_CHECKING:
    from reid_core.engine import DefaultTrainer, Outcome

__all__ = ["ArtifactKind", "RunInfo", "Status", "Tracker"]

log = logging.getLogger("reid_core")

#: What a tracker can be given besides numbers.
ArtifactKind = Literal["config", "report", "weights"]

#: Where each lies in the run folder.
_FILES: Mapping[ArtifactKind, str] = {
    "config": "config.yaml",
    "report": "report.html",
    "weights": "weights/best.safetensors",
}

#: Seconds that the first step waits for :meth:`Tracker.start`; it goes on behind training then.
_START_SECONDS = 10.0
#: The longest wait at the end of a run that was told to leave: who told it will not wait long.
_INTERRUPTED_SECONDS = 10.0


class Tracker(ABC):
    """Sends configuration, numbers and files of a run to somewhere else.

    A subclass says how, in :meth:`start`, :meth:`log` and, if it likes, :meth:`log_artifact` and
    :meth:`end`. They are called in this order, in a thread of their own, so that a slow or a
    silent server never makes training wait. Rows that a tracker is too slow for are dropped, and
    counted. What any of them raises switches the tracker off with one warning; the run goes on.

    It is in the first process only. The id that :meth:`start` returned is in the checkpoint, and a
    run that is resumed in its folder is told it again, so that it can go on with the same record.
    Steps that a resumed run does again have the same numbers: replace them or leave them out.

    Args:
        artifacts: Files that are handed over: ``config`` when the run begins, ``report`` and the
            best ``weights`` when it ends. None is when the configuration holds a secret.
        wait_seconds: The longest time that the end of a run waits for what is still to be sent,
            from 0.

    Raises:
        ConfigError: An artifact is unknown, or ``wait_seconds`` is below 0.
    """

    observer = True

    #: Rows that may wait to be sent.
    capacity: ClassVar[int] = 1000

    def __init__(
        self, *, artifacts: Sequence[ArtifactKind] = (), wait_seconds: float = 60.0
    ) -> None:
        unknown = [one for one in artifacts if one not in get_args(ArtifactKind)]
        if unknown:
            raise ConfigError(
                f"hook {type(self).__name__}: artifacts holds {unknown[0]!r}; expected "
                f"{', '.join(get_args(ArtifactKind))}"
            )
        if not wait_seconds >= 0:
            raise ConfigError(
                f"hook {type(self).__name__}: wait_seconds is {wait_seconds}; expected 0 or more"
            )
        self._artifacts = frozenset(artifacts)
        self._wait_seconds = wait_seconds
        self._sender: Sender | None = None
        self._has_started = False
        self._started_id: str | None = None
        self._run_id: str | None = None

    # What a subclass defines.

    def import_library(self) -> None:  # noqa: B027 — there may be none
        """Import what the tracker needs; called in the main thread, before the others.

        An import in another thread may be half done when a worker process is forked.
        """

    @abstractmethod
    def start(self, run: RunInfo) -> str | None:
        """Begin a record, or go on with that of ``run.run_id``.

        Args:
            run: The run, without secrets.

        Returns:
            An id by which a resumed run can go on with it; None if there is no such thing.
        """

    @abstractmethod
    def log(self, step: int, scalars: Mapping[str, float]) -> None:
        """Take numbers.

        Args:
            step: Number of steps done.
            scalars: By tag: ``train/loss``, ``train/loss_triplet``, ``lr``, ``time/step``,
                ``epoch``, ``val/<test set>/mAP``. They may be NaN or infinite.
        """

    def log_artifact(self, path: Path, kind: ArtifactKind) -> None:  # noqa: B027 — optional
        """Take a file; it may be gone after :meth:`end`.

        Args:
            path: The file.
            kind: What it is.
        """

    def end(self, status: Status, summary: Mapping[str, float]) -> None:  # noqa: B027 — optional
        """End the record.

        Args:
            status: ``completed``, ``stopped`` early, ``failed`` or ``interrupted``.
            summary: The best evaluation: ``best/<test set>/mAP`` and ``best/step``; empty without.
        """

    # The hooks.

    @hookimpl(tryfirst=True)
    def before_train(self, trainer: DefaultTrainer) -> None:
        """Begin the record; go on when it has begun, or after ten seconds."""
        self.import_library()
        self._has_started, self._started_id = False, None
        self._sender = sender = Sender(
            f"reid-tracker-{type(self).__name__}", capacity=self.capacity
        )
        run = RunInfo.of(trainer, self._run_id if _is_continued(trainer) else None)
        self._leave_out_secrets(trainer)
        sender.put(lambda: self._start(run))
        self._put_artifacts(trainer, "config")
        sender.wait(_START_SECONDS)
        sender.raise_error()

    @hookimpl
    def on_log(self, trainer: DefaultTrainer, step: int, scalars: Mapping[str, float]) -> None:
        """Hand a row over."""
        if self._sender is None:
            return
        self._take_news(self._sender)
        test_sets = {evaluator.name for evaluator in trainer.evaluators}
        # The sets together are one more.
        test_sets |= {evaluation.dataset for evaluation in trainer.results.evaluations}
        row = {tag_of(name, test_sets): value for name, value in scalars.items()}
        row["epoch"] = step / len(trainer.data_loader)
        if not self._sender.put_row(lambda: self.log(step, row)) and self._sender.dropped == 1:
            log.warning(
                "tracker %s is slower than the run: %d rows wait, and rows are dropped; a larger "
                "train.log_every makes fewer",
                type(self).__name__,
                self.capacity,
            )

    @hookimpl(trylast=True)
    def after_train(self, trainer: DefaultTrainer, outcome: Outcome) -> None:
        """End the record, and wait for what is still to be sent."""
        sender, self._sender = self._sender, None
        if sender is None:
            return
        self._put_artifacts(trainer, "report", "weights", to=sender)
        summary = _summary(trainer)
        sender.put(lambda: self.end(outcome.status, summary))
        self._finish(sender, is_interrupted=outcome.status == "interrupted")

    def state_dict(self) -> dict[str, object]:
        """Return the id of the record."""
        return {"run_id": self._run_id}

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Take the id of the record back."""
        run_id = state["run_id"]
        self._run_id = None if run_id is None else str(run_id)

    # Inside.

    def _start(self, run: RunInfo) -> None:
        self._started_id = self.start(run)
        self._has_started = True

    def _take_news(self, sender: Sender) -> None:
        """Fail as the thread did, or learn the id that it got."""
        sender.raise_error()
        if self._started_id is not None:
            self._run_id = self._started_id

    def _leave_out_secrets(self, trainer: DefaultTrainer) -> None:
        if self._artifacts and holds_secrets(trainer.config.plain()):
            log.warning(
                "tracker %s is given no files: the configuration, which is in all of them, holds "
                "what looks like a secret (a name with key, token, secret or password, or a login "
                "in an address)",
                type(self).__name__,
            )
            self._artifacts = frozenset()

    def _put_artifacts(
        self, trainer: DefaultTrainer, *kinds: ArtifactKind, to: Sender | None = None
    ) -> None:
        sender = to or self._sender
        assert sender is not None
        for kind in kinds:
            path = trainer.folder.path / _FILES[kind]
            if kind in self._artifacts and path.is_file():
                sender.put(functools.partial(self.log_artifact, path, kind))

    def _finish(self, sender: Sender, *, is_interrupted: bool) -> None:
        seconds = self._wait_seconds
        if is_interrupted:
            seconds = min(seconds, _INTERRUPTED_SECONDS)
        left = sender.close(seconds)
        self._take_news(sender)
        if left:
            log.warning(
                "tracker %s: not all was sent within %g s (wait_seconds); %d calls are given up%s",
                type(self).__name__,
                seconds,
                left,
                "" if self._has_started else ", because its record has not even begun: no answer",
            )
        if sender.dropped:
            log.warning(
                "tracker %s was slower than the run: %d rows were dropped",
                type(self).__name__,
                sender.dropped,
            )


def _is_continued(trainer: DefaultTrainer) -> bool:
    """Say whether the run goes on in its own folder.

    One that goes on elsewhere is a branch: its numbers would be mixed with those of the first run.
    """
    return any((trainer.folder.path / "checkpoints").glob("*"))


def _summary(trainer: DefaultTrainer) -> dict[str, float]:
    best = trainer.results.best
    if best is None:
        return {}
    return {f"best/{best.dataset}/{best.metric}": best.value, "best/step": float(best.step)}
