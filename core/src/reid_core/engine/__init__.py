"""The engine: the loop, its hooks, its storage, and the trainer that a config builds."""

from reid_core.engine.default_trainer import DefaultTrainer
from reid_core.engine.event_storage import EventStorage, get_event_storage
from reid_core.engine.hooks.hook_base import CallbackHook, HookBase
from reid_core.engine.hooks.hook_manager import HookManager
from reid_core.engine.outcome import Outcome
from reid_core.engine.simple_trainer import SimpleTrainer
from reid_core.engine.step_result import StepResult
from reid_core.engine.trainer_base import TrainerBase
from reid_core.errors import Interrupted

__all__ = [
    "CallbackHook",
    "DefaultTrainer",
    "EventStorage",
    "HookBase",
    "HookManager",
    "Interrupted",
    "Outcome",
    "SimpleTrainer",
    "StepResult",
    "TrainerBase",
    "get_event_storage",
]
