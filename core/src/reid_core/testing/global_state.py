"""What a process has only one of, and an import must leave as it was."""

from __future__ import annotations

import hashlib
import logging
import multiprocessing
import os
import random
import signal
import warnings
from collections.abc import Callable

import numpy as np
import torch


def global_state() -> dict[str, str]:
    """Return the settings of this process by name, as text that can be compared and shown."""
    return {name: _text_of(read) for name, read in _READERS.items()}


def _text_of(read: Callable[[], object]) -> str:
    try:
        return str(read())
    except Exception as error:  # a setting that this build of torch does not have, say
        return f"{type(error).__name__}: {error}"


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:12]


def _numpy_state() -> str:
    return _digest([str(part) for part in np.random.get_state(legacy=True)])


def _handlers() -> list[str]:
    names = ("SIGINT", "SIGTERM", "SIGABRT", "SIGALRM", "SIGCHLD")
    known = [getattr(signal, name) for name in names if hasattr(signal, name)]
    return [f"{number.name}={signal.getsignal(number)}" for number in known]


def _logging() -> str:
    root = logging.getLogger()
    return f"level {root.level}, handlers {root.handlers}, disabled up to {root.manager.disable}"


_READERS: dict[str, Callable[[], object]] = {
    "torch's default dtype": torch.get_default_dtype,
    "torch's default device": torch.get_default_device,
    "torch's random state": lambda: _digest(torch.get_rng_state().tolist()),
    "NumPy's random state": _numpy_state,
    "Python's random state": lambda: _digest(random.getstate()),
    "torch.get_num_threads()": torch.get_num_threads,
    "torch.get_num_interop_threads()": torch.get_num_interop_threads,
    "torch.is_grad_enabled()": torch.is_grad_enabled,
    "torch.get_float32_matmul_precision()": torch.get_float32_matmul_precision,
    "torch.are_deterministic_algorithms_enabled()": torch.are_deterministic_algorithms_enabled,
    "torch.backends.cudnn.enabled": lambda: torch.backends.cudnn.enabled,
    "torch.backends.cudnn.benchmark": lambda: torch.backends.cudnn.benchmark,
    "torch.backends.cudnn.deterministic": lambda: torch.backends.cudnn.deterministic,
    "torch.backends.cudnn.allow_tf32": lambda: torch.backends.cudnn.allow_tf32,
    "torch.backends.cuda.matmul.allow_tf32": lambda: torch.backends.cuda.matmul.allow_tf32,
    "the warnings filters": lambda: warnings.filters,
    "the multiprocessing start method": lambda: multiprocessing.get_start_method(allow_none=True),
    "torch's sharing strategy": torch.multiprocessing.get_sharing_strategy,
    "numpy.geterr()": np.geterr,
    "the working directory": os.getcwd,
    "the signal handlers": _handlers,
    "the root logger": _logging,
}
