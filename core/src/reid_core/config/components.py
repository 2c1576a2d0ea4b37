"""The parts of the schema that name a component and give its parameters."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

_NUMBERS = (int, float, int | None, float | None)


class Checked(BaseModel):
    """What all parts of a configuration have in common: read-only, finite numbers."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_value_for_a_number(cls, value: object, info: ValidationInfo) -> object:
        field = cls.model_fields[info.field_name or ""]
        if isinstance(value, bool) and field.annotation in _NUMBERS:
            raise ValueError("expected a number")
        return value


class Section(Checked):
    """A part of the configuration whose keys are all known."""

    model_config = ConfigDict(extra="forbid")


class Component(Checked):
    """A component by name, with its own parameters beside the name.

    The parameters are checked against the component's signature, not here: the schema cannot know
    what a plugin takes. A bare name stands for a component with default parameters.
    """

    model_config = ConfigDict(extra="allow")

    name: str = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _accept_bare_name(cls, value: object) -> object:
        return {"name": value} if isinstance(value, str) else value

    @property
    def parameters(self) -> dict[str, object]:
        """The component's own parameters: everything that the schema does not know."""
        return dict(self.model_extra or {})

    def as_call(self) -> dict[str, object]:
        """Return ``{"name": …, **parameters}``, as :meth:`Registry.build` takes it."""
        return {"name": self.name, **self.parameters}


class LossConfig(Component):
    """A loss and its weight in the sum."""

    weight: float = Field(1.0, gt=0)
    #: Patterns of the branches it sees, for example ``part_*``; None is all of them.
    branches: list[str] | None = Field(None, min_length=1)
    #: Whether it sees the batches of all processes together.
    gather: bool = False


class HookConfig(Component):
    """A hook; ``id`` keeps two of one name apart, and its state is saved under it."""

    id: str | None = None
    #: What happens when it fails; None is what the hook says of itself.
    on_error: Literal["raise", "disable"] | None = None

    @property
    def key(self) -> str:
        """The hook's id: its own, or its name."""
        return self.id or self.name


class OptimizerConfig(Component):
    """An optimizer; further parameters are its own (``momentum``, ``betas``, …)."""

    name: str = "adam"
    lr: float = Field(3.5e-4, gt=0)
    weight_decay: float = Field(5.0e-4, ge=0)
    #: Factor on the learning rate of every parameter called ``bias``.
    bias_lr_factor: float = Field(1.0, gt=0)
    #: Weight decay of the biases; None sets none of their own.
    bias_weight_decay: float | None = Field(None, ge=0)
    #: Factor on the learning rate of everything outside the backbone.
    head_lr_factor: float = Field(1.0, gt=0)
    #: Weight decay of the parameters of normalisation layers; None sets none of their own.
    norm_weight_decay: float | None = Field(None, ge=0)
    #: Factor on the learning rate from each layer of the backbone to the one before it.
    layer_decay: float | None = Field(None, gt=0, le=1)
    #: Patterns of the parameters that are not trained.
    frozen: list[str] = Field(default_factory=list)


class ClipConfig(Section):
    """How gradients are kept small, after ``after_backward`` and before the update."""

    method: Literal["norm", "value", "adaptive"] = "norm"
    limit: float = Field(gt=0)
    #: Patterns of the parameters whose gradients are left as they are.
    exclude: list[str] = Field(default_factory=list)


class WarmupConfig(Section):
    """A warm-up from ``factor`` times the learning rate to the whole of it."""

    epochs: float | None = Field(None, ge=0)
    steps: int | None = Field(None, ge=0)
    factor: float = Field(0.01, gt=0, le=1)
    method: Literal["constant", "linear", "exponential"] = "linear"

    @model_validator(mode="after")
    def _one_length(self) -> WarmupConfig:
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("give its length as either epochs or steps")
        return self


class ScheduleConfig(Component):
    """A learning-rate schedule over epochs, after an optional warm-up."""

    name: str = "cosine"
    warmup: WarmupConfig | None = None
    #: Whether the rate moves with every step, or only from epoch to epoch.
    granularity: Literal["step", "epoch"] = "step"
    #: From where the schedule counts its epochs.
    counting: Literal["from_start", "through_warmup", "fastreid"] = "from_start"
    #: Epochs before a schedule with ``counting: fastreid`` begins.
    delay_epochs: int = Field(0, ge=0)
    #: Number of the first epoch.
    first_epoch: Literal[0, 1] = 0

    @model_validator(mode="after")
    def _keys_that_belong_together(self) -> ScheduleConfig:
        if self.counting == "fastreid" and self.granularity != "epoch":
            raise ValueError("counting: fastreid goes by epochs; add granularity: epoch")
        if self.delay_epochs and self.counting != "fastreid":
            raise ValueError("delay_epochs belongs to counting: fastreid")
        if self.first_epoch and (self.granularity != "epoch" or self.counting == "fastreid"):
            raise ValueError(
                "first_epoch: 1 belongs to granularity: epoch with counting from_start or "
                "through_warmup"
            )
        return self


class BatchConfig(Checked):
    """How a training batch is drawn: a sampler and its parameters."""

    model_config = ConfigDict(extra="allow")

    sampler: str = "identity"

    def as_call(self) -> dict[str, object]:
        """Return ``{"name": sampler, **parameters}``."""
        return {"name": self.sampler, **(self.model_extra or {})}


def _one_or_many(value: object) -> object:
    return value if isinstance(value, list) else [value]


#: A list of data sets; a single one need not be wrapped in a list.
DatasetList = Annotated[list[Component], BeforeValidator(_one_or_many), Field(min_length=1)]

Distance = Literal["cosine", "euclidean"]
