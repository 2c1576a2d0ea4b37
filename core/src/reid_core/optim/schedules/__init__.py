"""Schedules: the factor on the learning rate by epoch; a component a file."""

from reid_core.optim.schedules.base import Schedule
from reid_core.optim.schedules.constant import Constant
from reid_core.optim.schedules.cosine import Cosine
from reid_core.optim.schedules.exponential import Exponential
from reid_core.optim.schedules.multistep import MultiStep
from reid_core.optim.schedules.one_cycle import OneCycle
from reid_core.optim.schedules.polynomial import Polynomial

__all__ = [
    "Constant",
    "Cosine",
    "Exponential",
    "MultiStep",
    "OneCycle",
    "Polynomial",
    "Schedule",
]
