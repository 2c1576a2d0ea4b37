"""Models: how a backbone, a head and losses are composed."""

from reid_core.models.baseline import Baseline
from reid_core.models.conditions import condition_values, conditions_of
from reid_core.models.weighted_losses import WeightedLoss, WeightedLosses

__all__ = ["Baseline", "WeightedLoss", "WeightedLosses", "condition_values", "conditions_of"]
