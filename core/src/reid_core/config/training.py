"""The part of the schema that says how long, how fast, how precise and on how many processes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from reid_core.config.components import ClipConfig, OptimizerConfig, ScheduleConfig, Section


class DistributedConfig(Section):
    """How several processes train one model; without torchrun none of it matters."""

    #: What gradients are exchanged by; ``auto`` is nccl on NVIDIA GPUs, else gloo.
    backend: Literal["auto", "nccl", "gloo"] = "auto"
    #: Whether each process has the whole model, or a share of its parameters.
    strategy: Literal["ddp", "fsdp"] = "ddp"
    #: Whether batch statistics are those of the whole batch, not of a process' share.
    sync_batch_norm: bool = False
    #: Whether parameters may go unused in a step.
    find_unused_parameters: bool = False
    #: Minutes that a process waits for the others before it gives up.
    timeout_minutes: float = Field(30.0, gt=0)


class TrainConfig(Section):
    """The loop: how long, how fast, how precise."""

    epochs: int = Field(120, ge=1)
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    #: Keep images and convolutions in channels-last layout: faster for most networks on CPUs, and
    #: on GPUs in bf16; the numbers differ only by rounding.
    channels_last: bool = False
    #: Whether the model goes through ``torch.compile``.
    compile: bool = False
    #: Whether activations are computed again in the backward pass, to save memory.
    gradient_checkpointing: bool = False
    #: Images a forward pass; None is the whole batch of a process.
    micro_batch: int | None = Field(None, ge=1)
    #: Whether float32 products on NVIDIA GPUs may be computed in TensorFloat-32.
    tf32: bool = False
    #: Whether only kernels are used that give the same bits every time.
    deterministic: bool = False
    #: What is done about a loss, gradient or buffer that is not finite.
    on_nan: Literal["stop", "skip", "rollback"] = "stop"
    #: Weights that training begins with: a run, a checkpoint or a weights file.
    init_from: str | None = Field(None, min_length=1)
    #: Batches an epoch at most; None is all of them.
    limit_batches: int | None = Field(None, ge=1)
    #: Train on the first so many batches again and again; None trains on all.
    overfit_batches: int | None = Field(None, ge=1)
    optimizer: OptimizerConfig = Field(default_factory=OptimizerConfig)
    schedule: ScheduleConfig = Field(default_factory=ScheduleConfig)
    #: None: gradients are taken as they are.
    clip_gradients: ClipConfig | None = None
    #: Steps between two rows of the metric log.
    log_every: int = Field(10, ge=1)
    distributed: DistributedConfig = Field(default_factory=DistributedConfig)
