"""What the trainer offers to each kind of component."""

from __future__ import annotations

from collections.abc import Mapping

#: Parameters by kind that are filled in where a component's signature names them; a configuration
#: cannot set them.
CONTEXT: Mapping[str, tuple[str, ...]] = {
    "backbones": ("image_size", "num_cameras", "num_views"),
    "heads": ("feature_dim", "num_prefix_tokens", "num_classes"),
    "losses": ("num_classes", "feature_dim", "weight"),
    "models": ("backbone", "head", "losses", "num_classes", "image_size"),
    "transforms": ("image_size", "image_mean", "image_std"),
    "samplers": ("labels", "camids", "columns", "sets", "set_names", "seed"),
    "schedules": ("total_epochs", "warmup_epochs", "tick_epochs", "base_lr"),
    "optimizers": ("params",),
}
