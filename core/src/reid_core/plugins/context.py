"""What the trainer offers to each kind of component."""

from __future__ import annotations

from collections.abc import Mapping

#: Parameters by kind that are filled in where a component's signature names them; a configuration
#: cannot set them.
CONTEXT: Mapping[str, tuple[str, ...]] = {
    "backbones": ("image_size",),
    "heads": ("feature_dim", "num_prefix_tokens", "num_classes"),
    "losses": ("num_classes", "feature_dim"),
    "models": ("backbone", "head", "losses", "num_classes", "image_size"),
    "transforms": ("image_size",),
    "samplers": ("labels", "camids", "seed"),
    "schedules": ("total_epochs", "warmup_epochs", "base_lr"),
    "optimizers": ("params",),
}
