"""Configuration: YAML recipes, their schema, and errors that point at the line.

Nothing here imports torch: ``reid-config`` answers at once.
"""

from reid_core.config.load import load_config
from reid_core.config.problems import ConfigProblem
from reid_core.config.recipes import list_recipes
from reid_core.config.schema import Config

__all__ = ["Config", "ConfigProblem", "list_recipes", "load_config"]
