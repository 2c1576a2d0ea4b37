"""How exactly a run computes: TensorFloat-32, kernels that repeat, and cuDNN's choice of them.

These are settings of torch for the whole process. A run makes them when it begins and takes them
back when it ends, so that a program that trains as one of many things finds them as they were.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass

import torch

from reid_core.config.training import TrainConfig
from reid_core.errors import ConfigError, TrainingError
from reid_core.evaluation.tf32 import tf32_switched

log = logging.getLogger("reid_core")

#: The variable that cuBLAS takes its workspace from, and the values with which it repeats.
WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
REPEATING = (":4096:8", ":16:8")


@dataclass(frozen=True)
class Numerics:
    """The switches of a run.

    Args:
        tf32: Whether float32 products and convolutions on NVIDIA GPUs are computed in
            TensorFloat-32, which keeps 10 bits of a factor's 23.
        deterministic: Whether only kernels are used that give the same bits every time.
        cudnn_benchmark: Whether cuDNN measures its kernels and takes the fastest one.
    """

    tf32: bool = False
    deterministic: bool = False
    cudnn_benchmark: bool = False

    @classmethod
    def of_config(cls, train: TrainConfig, device: torch.device) -> Numerics:
        """Return what the settings mean on a device; a warning says which one means nothing.

        Images have one size in training, so that measuring kernels pays off; what is fastest may
        differ from run to run, so a deterministic one does without.

        Args:
            train: The settings ``train.tf32`` and ``train.deterministic``.
            device: Where the model is.
        """
        is_cuda = device.type == "cuda"
        if train.tf32 and not is_cuda:
            log.warning("train.tf32 is true, which changes nothing on %s", device.type)
        return cls(
            tf32=train.tf32 and is_cuda,
            deterministic=train.deterministic,
            cudnn_benchmark=is_cuda and not train.deterministic,
        )

    def plain(self) -> dict[str, object]:
        """Return them as plain types."""
        return asdict(self)

    def line(self) -> str:
        """Return them in one line."""
        return ", ".join(
            f"{name} {'on' if is_on else 'off'}"
            for name, is_on in (
                ("TF32", self.tf32),
                ("deterministic", self.deterministic),
                ("cuDNN benchmark", self.cudnn_benchmark),
            )
        )

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Compute so while the context lasts; afterwards torch is set as it was before.

        Raises:
            ConfigError: The workspace of cuBLAS is set to one with which it does not repeat.
        """
        with ExitStack() as stack:
            stack.enter_context(tf32_switched(self.tf32))
            stack.enter_context(_cudnn(self))
            if self.deterministic:
                stack.enter_context(_workspace())
                stack.enter_context(_deterministic_algorithms())
            yield


@contextmanager
def told_by_setting() -> Iterator[None]:
    """Name the setting where torch refuses an operation that does not repeat.

    Raises:
        TrainingError: It did; the traceback leads to the operation.
    """
    try:
        yield
    except RuntimeError as error:
        text = str(error)
        if not torch.are_deterministic_algorithms_enabled() or "determinis" not in text:
            raise
        if isinstance(error, torch.OutOfMemoryError):
            raise
        raise TrainingError(
            f"train.deterministic is true, and an operation of this run has no kernel that gives "
            f"the same bits every time: {text.splitlines()[0]}; set train.deterministic=false, or "
            "leave that part out"
        ).with_traceback(error.__traceback__) from error


@contextmanager
def _cudnn(numerics: Numerics) -> Iterator[None]:
    cudnn = torch.backends.cudnn
    former = cudnn.benchmark, cudnn.deterministic
    cudnn.benchmark, cudnn.deterministic = numerics.cudnn_benchmark, numerics.deterministic
    try:
        yield
    finally:
        cudnn.benchmark, cudnn.deterministic = former


@contextmanager
def _deterministic_algorithms() -> Iterator[None]:
    former = torch.are_deterministic_algorithms_enabled()
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(former, warn_only=warns)


@contextmanager
def _workspace() -> Iterator[None]:
    """Set the workspace of cuBLAS, unless the person who started the run has."""
    found = os.environ.get(WORKSPACE)
    if found is not None:
        if torch.cuda.is_available() and found not in REPEATING:
            raise ConfigError(
                f"train.deterministic is true, and {WORKSPACE} is {found!r}, with which cuBLAS "
                f"does not repeat; expected {' or '.join(REPEATING)}: unset it, or set "
                "train.deterministic=false"
            )
        yield
        return
    os.environ[WORKSPACE] = REPEATING[0]
    try:
        yield
    finally:
        os.environ.pop(WORKSPACE, None)
