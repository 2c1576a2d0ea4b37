"""Optimizers, parameter groups, gradient clipping and learning-rate schedules."""

from reid_core.optim.clipping import GradientClip, build_clip
from reid_core.optim.learning_rate import LearningRate
from reid_core.optim.optimizers import build_optimizer

__all__ = ["GradientClip", "LearningRate", "build_clip", "build_optimizer"]
