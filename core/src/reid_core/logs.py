"""Log lines: on standard error for the person who waits, and in the run folder's ``train.log``."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

#: Names of our loggers and of those of plugins that follow the naming rule begin like this.
_OURS = "reid_"


class LogFile(logging.Handler):
    """Holds log lines back until it is known which file they belong in."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[logging.LogRecord] = []
        self._file: logging.FileHandler | None = None

    def open(self, path: Path) -> None:
        """Write the lines so far to ``path``, and all further ones; an old file is continued."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = _RunLog(path, encoding="utf-8")
        self._file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        for record in self._waiting:
            self._file.emit(record)
        self._waiting = []

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or keep it until there is a file."""
        if self._file is None:
            self._waiting.append(record)
        else:
            self._file.emit(record)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
        super().close()


class _RunLog(logging.FileHandler):
    """Goes on without a disk that is full: a line that is lost is no reason to lose a run.

    The line was shown on standard error as well, as is that the file lacks some.
    """

    _is_told = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 — logging's own name
        error = sys.exception()
        if not isinstance(error, OSError):
            super().handleError(record)
        elif not self._is_told:
            self._is_told = True
            sys.stderr.write(
                f"warning: {self.baseFilename} cannot be written: {error.strerror}; it lacks lines "
                "from here on\n"
            )

    def close(self) -> None:
        # What is left in the buffer is tried once more, and was told of when it could not be kept.
        with suppress(OSError):
            super().close()


@contextmanager
def logging_to(*, verbose: bool = False) -> Iterator[LogFile]:
    """Show log lines on standard error while the context is open.

    Shown are the lines of loggers whose name begins with ``reid_`` (the core's, and those of plugin
    packages), and warnings of everybody.

    Args:
        verbose: Show debug lines too; a file always has them.

    Yields:
        The log file; lines are kept on disk once it is opened.
    """
    logger, core = logging.getLogger(), logging.getLogger("reid_core")
    levels = logger.level, core.level
    # Debug lines of the core alone: Pillow has one for every chunk of every PNG.
    logger.setLevel(logging.INFO)
    core.setLevel(logging.DEBUG)
    console, file = _CurrentStderr(), LogFile()
    console.setLevel(logging.DEBUG if verbose else logging.INFO)
    console.setFormatter(_ShortFormatter())
    for handler in (console, file):
        handler.addFilter(_is_shown)
        logger.addHandler(handler)
    try:
        yield file
    finally:
        for handler in (console, file):
            logger.removeHandler(handler)
            handler.close()
        logger.setLevel(levels[0])
        core.setLevel(levels[1])


def _is_shown(record: logging.LogRecord) -> bool:
    return record.name.startswith(_OURS) or record.levelno >= logging.WARNING


class _CurrentStderr(logging.StreamHandler[TextIO]):
    """Writes to whatever standard error is now: a progress bar puts itself in between."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr


class _ShortFormatter(logging.Formatter):
    """The bare message; from a warning on, its level before it."""

    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        return f"{record.levelname.lower()}: {text}" if record.levelno > logging.INFO else text
