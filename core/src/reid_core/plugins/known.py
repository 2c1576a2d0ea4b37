"""What the plugins of this project provide, so that a missing one can be named."""

from __future__ import annotations

from collections.abc import Mapping

#: Names by distribution, by kind; a test compares them with the distributions themselves.
KNOWN: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "backbones": {
        "reid-plugin-osnet": ("osnet_x1_0", "osnet_x0_75", "osnet_x0_5", "osnet_x0_25"),
        "reid-plugin-timm": ("timm",),
    },
    "heads": {"reid-plugin-heads": ("bnneck", "linear")},
    "losses": {"reid-plugin-losses": ("cross_entropy", "triplet")},
    "hooks": {"reid-plugin-hooks": ("early_stopping", "ema", "gradient_norm", "tensorboard")},
    "recipes": {"reid-plugin-osnet": ("osnet",)},
}


def provider_of(kind: str, name: str) -> str | None:
    """Return the distribution of this project that provides a component, or None.

    Args:
        kind: Component kind.
        name: Plain, or qualified by that distribution.
    """
    dist, _, plain = name.rpartition("/")
    for known, names in KNOWN.get(kind, {}).items():
        if plain in names and dist in ("", known):
            return known
    return None
