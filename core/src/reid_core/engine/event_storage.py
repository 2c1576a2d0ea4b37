"""Numbers of a run with their history, for hooks and writers."""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from itertools import islice

_current: ContextVar[EventStorage] = ContextVar("reid_core_event_storage")

#: Values kept of each scalar; older ones only count in the global average.
HISTORY_LENGTH = 100_000


class History:
    """The values of one scalar, newest last.

    Args:
        max_length: Values kept.
    """

    def __init__(self, max_length: int = HISTORY_LENGTH) -> None:
        self._values: deque[tuple[int, float]] = deque(maxlen=max_length)
        self._count = 0
        self._sum = 0.0

    def update(self, value: float, step: int) -> None:
        """Add a value that belongs to ``step``."""
        self._values.append((step, value))
        self._count += 1
        self._sum += value

    def latest(self) -> float:
        """Return the newest value."""
        return self._values[-1][1]

    def median(self, window: int) -> float:
        """Return the median of the last ``window`` values."""
        return statistics.median(self._last(window))

    def avg(self, window: int) -> float:
        """Return the mean of the last ``window`` values."""
        return statistics.fmean(self._last(window))

    def global_avg(self) -> float:
        """Return the mean of all values ever added."""
        return self._sum / self._count

    def values(self) -> list[tuple[int, float]]:
        """Return the kept values as (step, value)."""
        return list(self._values)

    def _last(self, window: int) -> list[float]:
        values = self._values
        return [value for _, value in islice(values, max(len(values) - window, 0), None)]


class EventStorage:
    """Scalars by name with history and smoothing; open during training as a context.

    Args:
        start_iter: Step the run starts at.
    """

    def __init__(self, start_iter: int = 0) -> None:
        self.iter = start_iter
        #: Number of the running epoch, from 0.
        self.epoch = 0
        self._histories: dict[str, History] = {}
        self._smoothed: dict[str, bool] = {}
        self._latest: dict[str, tuple[float, int]] = {}
        self._prefix = ""
        self._tokens: list[Token[EventStorage]] = []

    def put_scalar(self, name: str, value: float, smoothing_hint: bool = True) -> None:
        """Add a value of the current step.

        Args:
            name: The scalar's name; the open :meth:`name_scope` comes before it.
            value: A float on the host.
            smoothing_hint: Whether it is noisy, so that its median should be shown. Fixed by the
                first value of a name.
        """
        full = self._prefix + name
        self._smoothed.setdefault(full, smoothing_hint)
        self._histories.setdefault(full, History()).update(float(value), self.iter)
        self._latest[full] = (float(value), self.iter)

    def put_scalars(self, scalars: Mapping[str, float], smoothing_hint: bool = True) -> None:
        """Add several values of the current step."""
        for name, value in scalars.items():
            self.put_scalar(name, value, smoothing_hint)

    def history(self, name: str) -> History:
        """Return the history of a scalar.

        Raises:
            KeyError: There is none of that name.
        """
        if name not in self._histories:
            raise KeyError(f"no scalar {name!r}; there are {sorted(self._histories)}")
        return self._histories[name]

    def histories(self) -> dict[str, History]:
        """Return all histories by name."""
        return dict(self._histories)

    def latest(self) -> dict[str, tuple[float, int]]:
        """Return the newest value of each scalar with its step."""
        return dict(self._latest)

    def latest_with_smoothing_hint(self, window: int = 20) -> dict[str, tuple[float, int]]:
        """Return the same, noisy scalars as the median of their last ``window`` values."""
        return {
            name: (self._histories[name].median(window), step)
            if self._smoothed[name]
            else (v, step)
            for name, (v, step) in self._latest.items()
        }

    @contextmanager
    def name_scope(self, name: str) -> Iterator[None]:
        """Put ``name/`` before the names of scalars added inside, also when the inside raises."""
        outer = self._prefix
        self._prefix = f"{outer}{name.rstrip('/')}/"
        try:
            yield
        finally:
            self._prefix = outer

    def __enter__(self) -> EventStorage:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *exception: object) -> None:
        _current.reset(self._tokens.pop())


def get_event_storage() -> EventStorage:
    """Return the storage of the training that runs around the caller.

    Raises:
        LookupError: No training runs.
    """
    try:
        return _current.get()
    except LookupError:
        raise LookupError(
            "no EventStorage is open; call this during training, or inside 'with EventStorage():'"
        ) from None
