"""A worker process that has died, told as what it is wherever the news comes in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from reid_core.errors import TrainingError

#: How torch begins to say that a worker is gone.
_DEATH = "DataLoader worker (pid"


@contextmanager
def told_worker_deaths() -> Iterator[None]:
    """Turn what torch raises when a worker has died into an error that says what to do.

    torch raises it out of a signal handler, that is in the middle of whatever the process is doing:
    it has nothing to do with the code that it comes out of.

    Raises:
        TrainingError: A worker died.
    """
    try:
        yield
    except RuntimeError as error:
        if not str(error).startswith(_DEATH):
            raise
        # Without the frames, or code that was merely interrupted would be blamed for it.
        cause = RuntimeError(str(error))
        raise TrainingError(
            f"a worker process died: {error}; what it wrote, above, says why. If it wrote "
            "nothing, memory may have run out: lower data.workers. A worker that is not forked "
            "reads the program again, so that must be a file which starts training below "
            "'if __name__ == \"__main__\"'"
        ).with_traceback(None) from cause
