"""A model from its configuration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from torch import nn

from reid_core.config import Config
from reid_core.config.components import LossConfig
from reid_core.contracts import ReidModel
from reid_core.errors import ConfigError, PluginError
from reid_core.models.checkpointing import checkpoint_activations
from reid_core.models.weighted_losses import WeightedLoss
from reid_core.plugins.registries import BACKBONES, HEADS, LOSSES, MODELS

#: Patterns of the keys that only training needs; an embedding model is built without them.
TRAINING_ONLY_KEYS = ("*classifier*", "losses.*")


def build_model(
    config: Config,
    *,
    num_classes: int | None,
    num_cameras: int | None = None,
    num_views: int | None = None,
) -> ReidModel:
    """Build the model a config describes.

    Args:
        config: The whole configuration.
        num_classes: Training identities, or None for a model that only embeds: it gets neither
            classifier nor losses.
        num_cameras: Cameras of the training sets, for backbones conditioned on them; None where
            that is not known.
        num_views: Views of the training sets, likewise.

    Returns:
        The model, with freshly initialised weights unless the backbone loads some.

    Raises:
        ConfigError: A part is missing, or a parameter does not fit.
        PluginError: A part cannot be found or loaded, or breaks its contract.
    """
    settings = config.model
    is_checkpointed = config.train.gradient_checkpointing and num_classes is not None
    context: dict[str, object] = {"num_classes": num_classes, "image_size": config.data.image_size}
    if settings.backbone is not None:
        backbone = _module(
            BACKBONES.build(
                settings.backbone.as_call(),
                image_size=config.data.image_size,
                num_cameras=num_cameras,
                num_views=num_views,
            ),
            f"backbone {settings.backbone.name}",
        )
        if is_checkpointed:
            checkpoint_activations(backbone, f"backbone {settings.backbone.name}")
        context["backbone"] = backbone
        if settings.head is not None:
            context["head"] = _module(
                HEADS.build(
                    settings.head.as_call(),
                    feature_dim=_feature_dim(backbone, settings.backbone.name),
                    num_prefix_tokens=getattr(backbone, "num_prefix_tokens", None),
                    num_classes=num_classes,
                ),
                f"head {settings.head.name}",
            )
    elif settings.head is not None:
        raise ConfigError("model.head is set but model.backbone is not; name a backbone")
    context["losses"] = [] if num_classes is None else _losses(settings.losses, context)
    model = MODELS.build(settings.as_call(), **context)
    if not isinstance(model, ReidModel):
        raise PluginError(
            f"model {settings.name} gave a {type(model).__name__}; expected a "
            "reid_core.contracts.ReidModel"
        )
    if is_checkpointed and settings.backbone is None:
        checkpoint_activations(model, f"model {settings.name}")
    return model


def _losses(configs: Sequence[LossConfig], context: dict[str, object]) -> list[WeightedLoss]:
    if not configs:
        raise ConfigError("model.losses is empty; training needs at least one loss")
    feature_dim = getattr(context.get("head"), "embedding_dim", None)
    seen: Counter[str] = Counter()
    losses = []
    for config in configs:
        seen[config.name] += 1
        count = seen[config.name]
        module = _module(
            LOSSES.build(
                config.as_call(),
                num_classes=context["num_classes"],
                feature_dim=feature_dim,
                weight=config.weight,
            ),
            f"loss {config.name}",
        )
        name = config.name.rpartition("/")[2]
        losses.append(
            WeightedLoss(
                name if count == 1 else f"{name}_{count}",
                module,
                config.weight,
                None if config.branches is None else tuple(config.branches),
                config.gather,
            )
        )
    return losses


def _module(obj: object, what: str) -> nn.Module:
    if isinstance(obj, nn.Module):
        return obj
    raise PluginError(f"{what} gave a {type(obj).__name__}; expected a torch.nn.Module")


def _feature_dim(backbone: nn.Module, name: str) -> int:
    feature_dim = getattr(backbone, "feature_dim", None)
    if isinstance(feature_dim, int) and feature_dim > 0:
        return feature_dim
    raise PluginError(
        f"backbone {name} has feature_dim {feature_dim!r}; expected a positive integer, the "
        "number of channels of its features"
    )
