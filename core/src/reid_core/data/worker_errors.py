"""Exceptions on their way out of a worker process: each arrives, and arrives as itself.

Between processes an exception is pickled, and that goes wrong in several ways: its class cannot be
imported, its constructor takes other arguments than it keeps, it holds something that cannot be
pickled. A plain queue would then drop it, and the training process would wait for ever.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from torch.utils.data import get_worker_info

from reid_core import errors

Result = TypeVar("Result")


class WorkerTraceback(Exception):  # noqa: N818 — no error of its own: it shows where one was raised
    """The traceback of a worker, as the cause of the error that was raised there."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


@dataclass(frozen=True)
class Failure:
    """An exception in a form that can be sent.

    Args:
        payload: The exception, pickled; empty if it cannot be.
        stand_in: What is raised instead where the exception cannot be rebuilt.
        text: The message of the stand-in.
        notes: The exception's notes.
        trace: Its traceback, with those of its causes.
    """

    payload: bytes
    stand_in: type[Exception]
    text: str
    notes: tuple[str, ...]
    trace: str

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """Pack an exception, in the process where it was raised."""
        return cls(
            payload=_payload(error),
            stand_in=_stand_in(type(error)),
            text=f"{type(error).__name__}: {text_of(error)}",
            notes=tuple(getattr(error, "__notes__", ())),
            trace="".join(traceback.format_exception(error)),
        )

    def error(self) -> Exception:
        """Return the exception, or its stand-in, with the traceback of its worker as the cause."""
        error = self._rebuilt()
        known = getattr(error, "__notes__", ())
        for note in self.notes:
            if note not in known:
                error.add_note(note)
        error.__cause__ = WorkerTraceback(self.trace)
        return error

    def _rebuilt(self) -> Exception:
        try:
            error: Exception = pickle.loads(self.payload)
        except Exception:  # it could not be pickled there, or its class cannot be imported here
            return self.stand_in(self.text)
        return error


def add_place(error: Exception, row: int) -> None:
    """Note in an error which row was read, and by which worker, unless its message says so."""
    worker = get_worker_info()
    place = f"row {row}, worker {worker.id}" if worker else f"row {row}"
    if place not in text_of(error):
        error.add_note(f"raised while reading {place}")


def at_row(row: int, step: Callable[..., Result], *arguments: object) -> Result:
    """Return what a step gives; an error in it says which row was read.

    Args:
        row: The row.
        step: Called with ``arguments``.
        *arguments: Passed on.

    Raises:
        Exception: What the step raises, with the place noted in it.
    """
    try:
        return step(*arguments)
    except Exception as error:
        add_place(error, int(row))
        raise


def text_of(error: BaseException) -> str:
    """Return the message of an exception, also of one that cannot say it."""
    try:
        return str(error)
    except Exception:
        return f"(its __str__ fails) {error.args!r}"


def _payload(error: Exception) -> bytes:
    """Return the first pickle of the exception from which the same one can be made."""
    for form in _forms(error):
        try:
            payload = pickle.dumps(form)
            copy = pickle.loads(payload)
        except Exception:  # the next form may do
            continue
        if type(copy) is type(error) and text_of(copy) == text_of(error):
            return payload
    return b""


def _forms(error: Exception) -> Iterator[object]:
    yield error
    yield _Unconstructed(error, vars(error))
    yield _Unconstructed(error, {})


class _Unconstructed:
    """Pickles an exception so that it is rebuilt without its constructor.

    A constructor that takes ``what`` and ``where`` and makes one message of them cannot be called
    with that message.
    """

    def __init__(self, error: Exception, state: Mapping[str, object]) -> None:
        self._error = error
        self._state = dict(state)

    def __reduce__(self) -> tuple[object, ...]:
        return _construct, (type(self._error), self._error.args, self._state)


def _construct(
    kind: type[Exception], args: tuple[object, ...], state: dict[str, object]
) -> Exception:
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(state)
    return error


def _stand_in(kind: type[Exception]) -> type[Exception]:
    """Return the nearest class of ours that an error derives from: it has the right exit code."""
    ours = (base for base in kind.__mro__ if base.__module__ == errors.__name__)
    return next((base for base in ours if issubclass(base, Exception)), RuntimeError)
