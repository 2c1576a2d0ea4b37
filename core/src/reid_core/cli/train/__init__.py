"""``reid-train``: train a recipe, go on with a run, or check a config."""

from reid_core.cli.train.command import main

__all__ = ["main"]
