"""``reid-eval``: evaluate weights or embeddings, hold figures to a minimum, compare runs.

``command`` has the options; ``request`` checks how they go together; ``measure`` evaluates;
``printed`` and ``written`` are what comes out; ``gate`` holds figures to a minimum; ``compare``
sets two runs beside each other. None of them imports torch when it is imported itself.
"""

from reid_core.cli.evaluate.command import main

__all__ = ["main"]
