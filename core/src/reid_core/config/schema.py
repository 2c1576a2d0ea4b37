"""The schema of a configuration; its defaults are the default configuration."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from reid_core.config.components import (
    BatchConfig,
    Component,
    DatasetList,
    Distance,
    HookConfig,
    LossConfig,
    Section,
)
from reid_core.config.nodes import Node, Origin
from reid_core.config.start_method import StartMethod
from reid_core.config.training import TrainConfig
from reid_core.errors import ConfigError

#: More workers than this is a typing error, not a wish.
MAX_WORKERS = 128

#: Hooks that act in every run unless the config lists others; in call order.
DEFAULT_HOOKS = ("lr_schedule", "checkpoint", "evaluation", "metric_log", "console", "report")


class ModelConfig(Component):
    """A model: how backbone, head and losses are composed."""

    name: str = "baseline"
    backbone: Component | None = None
    head: Component | None = None
    losses: list[LossConfig] = Field(default_factory=list)


class DataConfig(Section):
    """Data sets, and the way from a file to a batch."""

    train: DatasetList = Field(default_factory=lambda: [Component(name="synthetic")])
    #: None: the query and gallery splits of the training sets.
    test: DatasetList | None = None
    #: Whether query and gallery of the training sets are trained on too.
    combine_all: bool = False
    #: Height and width in pixels.
    image_size: tuple[int, int] = (256, 128)
    interpolation: Literal["bilinear", "bicubic"] = "bilinear"
    #: Whether images of another aspect ratio are stretched, or centred on the mean colour.
    resize: Literal["stretch", "letterbox"] = "stretch"
    #: Channel statistics of the RGB image scaled to 0..1; the defaults are ImageNet's.
    mean: tuple[float, float, float] = (0.485, 0.456, 0.406)
    std: tuple[float, float, float] = (0.229, 0.224, 0.225)
    batch: BatchConfig = Field(default_factory=BatchConfig)
    transforms: list[Component] = Field(default_factory=list)
    #: Worker processes that decode and augment; 0 does it in the training process.
    workers: int = Field(4, ge=0, le=MAX_WORKERS)
    #: How they are started; None is Python's default, which depends on platform and version.
    start_method: StartMethod | None = None
    #: A broken image stops the run, or is replaced (train) or left out (test) and listed.
    broken_images: Literal["fail", "skip"] = "fail"

    @field_validator("image_size", mode="before")
    @classmethod
    def _pair(cls, size: object) -> object:
        if not isinstance(size, list | tuple) or len(size) != 2:
            raise ValueError("expected [height, width] in pixels")
        return size

    @field_validator("image_size")
    @classmethod
    def _positive(cls, size: tuple[int, int]) -> tuple[int, int]:
        if min(size) < 8:
            raise ValueError("[height, width] in pixels, each at least 8")
        return size

    @field_validator("std")
    @classmethod
    def _non_zero(cls, std: tuple[float, float, float]) -> tuple[float, float, float]:
        if min(std) <= 0:
            raise ValueError("each must be greater than 0")
        return std

    @property
    def transform_context(self) -> dict[str, object]:
        """What transforms are offered beside their own parameters."""
        return {"image_size": self.image_size, "image_mean": self.mean, "image_std": self.std}

    @property
    def test_sets(self) -> list[Component]:
        """The data sets whose query and gallery are evaluated."""
        return self.train if self.test is None else self.test


class FeaturesConfig(Section):
    """How an embedding is made of an image in evaluation; stated beside every number."""

    #: Whether the mirrored image is embedded too.
    flip: bool = False
    #: Factors on ``data.image_size``; the image is embedded in each size.
    scales: list[float] = Field(default_factory=lambda: [1.0], min_length=1)
    #: Crops of an image: 1 is the whole; 5 are the corners and the middle of a larger one.
    crops: Literal[1, 5] = 1
    #: Whether the embedding is scaled to length 1 at the end, which matters to ``euclidean`` only.
    normalize: bool = False

    @field_validator("scales")
    @classmethod
    def _usable(cls, scales: list[float]) -> list[float]:
        if any(not 0.25 <= scale <= 4 for scale in scales) or len(set(scales)) < len(scales):
            raise ValueError("expected different factors from 0.25 to 4, such as [1.0, 1.25]")
        return scales


class EvaluateConfig(Section):
    """Retrieval on the test sets."""

    #: Epochs between two evaluations; the last epoch is always evaluated. 0 turns it off.
    every: int = Field(10, ge=0)
    #: Whether the untrained model is evaluated too, so that the gain can be seen.
    at_start: bool = False
    distance: Distance = "cosine"
    protocol: Component = Field(default_factory=lambda: Component(name="market1501"))
    #: Steps between embeddings and figures, in order; figures without them are given too.
    rerank: list[Component] = Field(default_factory=list)
    features: FeaturesConfig = Field(default_factory=FeaturesConfig)
    #: Whether the last evaluation of a run is described in full: intervals, ROC, failures.
    details: bool = True
    #: Whether several test sets are also evaluated as one, all galleries searched by all queries.
    combine: bool = False
    batch_size: int = Field(128, ge=1)
    #: The metric of the first test set that decides which weights are best.
    monitor: Literal["mAP", "mINP", "rank1", "rank5", "rank10"] = "mAP"


class PluginsConfig(Section):
    """Which distributions the run needs, and which it leaves out."""

    #: Requirements such as ``reid-plugin-timm>=0.1``, checked before anything is built.
    require: list[str] = Field(default_factory=list)
    #: Distributions that nothing comes from; ``*`` is all of them but the core's.
    disable: list[str] = Field(default_factory=list)


def _default_hooks() -> list[HookConfig]:
    return [HookConfig(name=name) for name in DEFAULT_HOOKS]


def _null_is_empty(value: object) -> object:
    return [] if value is None else value


def _used_twice(key: str, first: tuple[str, int], second: tuple[str, int]) -> Exception:
    advice, path = f"twice in {first[0]}; give one of them another id", second
    if first[0] != second[0]:
        # Reported where the user wrote it: the default hooks are seldom in the file.
        advice, path = (
            f"by a default hook too; set that one's parameters in {second[0]}, or give this one "
            "another id",
            first,
        )
    return PydanticCustomError(
        "duplicate_hook",
        "hook id '{key}' is used {advice}",
        {"key": key, "advice": advice, "path": path},
    )


class Config(Section):
    """A whole run. Build one with :func:`reid_core.config.load_config`."""

    #: One line for people; shown by ``reid-config show``.
    description: str = ""
    seed: int = Field(0, ge=0)
    #: The run folder; None makes ``runs/<recipe>/<date-time>``.
    output: str | None = Field(None, min_length=1)
    device: str = "auto"
    model: ModelConfig = Field(default_factory=ModelConfig)
    data: DataConfig = Field(default_factory=DataConfig)
    train: TrainConfig = Field(default_factory=TrainConfig)
    evaluate: EvaluateConfig = Field(default_factory=EvaluateConfig)
    #: The run's own hooks; each step they are called before the default ones, in this order.
    hooks: Annotated[list[HookConfig], BeforeValidator(_null_is_empty)] = Field(
        default_factory=list
    )
    default_hooks: Annotated[list[HookConfig], BeforeValidator(_null_is_empty)] = Field(
        default_factory=_default_hooks
    )
    plugins: PluginsConfig = Field(default_factory=PluginsConfig)

    _root: Node | None = PrivateAttr(default=None)
    _name: str = PrivateAttr(default="run")

    @model_validator(mode="after")
    def _unique_hook_ids(self) -> Self:
        places: dict[str, tuple[str, int]] = {}
        for group, hooks in (("hooks", self.hooks), ("default_hooks", self.default_hooks)):
            for position, hook in enumerate(hooks):
                if hook.key in places:
                    raise _used_twice(hook.key, places[hook.key], (group, position))
                places[hook.key] = (group, position)
        return self

    @property
    def all_hooks(self) -> list[HookConfig]:
        """Every hook in call order: the run's own, then the default ones."""
        return [*self.hooks, *self.default_hooks]

    @property
    def name(self) -> str:
        """The recipe's short name, such as ``osnet_x0_25``."""
        return self._name

    def with_output(self, output: str) -> Config:
        """Return the same configuration with another run folder.

        Raises:
            ConfigError: The name is empty, which would mean the working directory.
        """
        if not output.strip():
            raise ConfigError("output is empty; expected the name of a folder")
        return self.model_copy(update={"output": output})

    def origin(self, path: tuple[str | int, ...]) -> Origin | None:
        """Say where the value at ``path`` was written, if this config was read from a file."""
        return self._root.origin_of(path) if self._root else None

    def plain(self) -> dict[str, object]:
        """Return the resolved configuration as plain YAML types, defaults included."""
        return self.model_dump(mode="json")
