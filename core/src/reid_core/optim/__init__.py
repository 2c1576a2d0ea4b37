"""Optimizers and learning-rate schedules."""

from reid_core.optim.learning_rate import LearningRate
from reid_core.optim.optimizers import build_optimizer

__all__ = ["LearningRate", "build_optimizer"]
