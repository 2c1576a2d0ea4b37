"""What one process tells the others about how it failed."""

from __future__ import annotations

import json
import signal
from dataclasses import asdict, dataclass

import torch.distributed as dist

from reid_core.errors import ReidError, TrainingError

#: What torch says, in errors that have no type of their own, when an exchange came to nothing
#: because the other side was not there any more.
_SIGNS_OF_A_LOST_PEER = (
    "connection closed by peer",
    "connection reset by peer",
    "broken pipe",
    "socket closed",
    "gloo/transport",
    "application timeout caused pair closure",
    "nccl communicator was aborted",
    "remote process exited",
)

#: Stands for the program that started the processes.
LAUNCHER = -1


@dataclass(frozen=True)
class Failure:
    """How a process failed.

    Args:
        rank: Its number; :data:`LAUNCHER` where it was no process of the job.
        kind: Type of the error; empty for a process that is gone without a word.
        message: Its text.
        exit_code: What the process leaves with, and the others too.
    """

    rank: int
    kind: str
    message: str
    exit_code: int

    @classmethod
    def of(cls, rank: int, error: BaseException) -> Failure:
        """Return the failure that an exception means."""
        kind = type(error).__name__
        if isinstance(error, KeyboardInterrupt):
            return cls(rank, kind, "interrupted by Ctrl-C", 128 + signal.SIGINT)
        return cls(rank, kind, _text_of(error), _exit_code(error))

    @classmethod
    def gone(cls, rank: int, who: str) -> Failure:
        """Return the failure of a process that ended without saying why.

        Args:
            rank: Its number.
            who: Where it ran, as ``host a, pid 7``; empty if that is not known.
        """
        where = f" ({who})" if who else ""
        return cls(
            rank,
            "",
            f"process {rank}{where} is gone: it was killed, by hand or for want of memory, or it "
            "crashed; the system log of its machine says more",
            1,
        )

    @classmethod
    def from_text(cls, text: str) -> Failure:
        """Take back what :meth:`to_text` gave."""
        return cls(**json.loads(text))

    def to_text(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))

    @property
    def sentence(self) -> str:
        """What another process says about it."""
        if not self.kind:
            return self.message
        return f"process {self.rank} failed: {self.message}"


class OtherProcessError(TrainingError):
    """The run cannot go on here because another process failed first.

    Args:
        failure: What the other one told.
    """

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(failure.sentence)

    @property
    def status_code(self) -> int:
        """The exit code of the process that failed first."""
        return self.failure.exit_code


class LostExchangeError(TrainingError):
    """Processes could not exchange something because one of them has ended."""


def is_consequence(error: BaseException) -> bool:
    """Say whether an error only shows that another process has ended.

    Args:
        error: What was raised here.
    """
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, LostExchangeError | dist.DistBackendError | dist.DistNetworkError):
            return True
        if isinstance(seen, RuntimeError):
            text = str(seen).lower()
            if any(sign in text for sign in _SIGNS_OF_A_LOST_PEER):
                return True
        seen = seen.__cause__
    return False


def _text_of(error: BaseException) -> str:
    text = str(error)
    if isinstance(error, ReidError):
        return text
    kind = type(error).__name__
    return f"{kind}: {text}" if text else kind


def _exit_code(error: BaseException) -> int:
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) and error.code else 1
    code = getattr(error, "status_code", getattr(error, "exit_code", 1))
    return code if isinstance(code, int) else 1
