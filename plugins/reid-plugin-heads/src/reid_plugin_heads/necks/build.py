"""The necks by the names that configs use."""

from __future__ import annotations

from typing import Literal, get_args

from reid_core.errors import ConfigError
from reid_plugin_heads.checks import require_choice, require_positive
from reid_plugin_heads.necks.neck import Neck

NeckName = Literal["none", "bnneck", "reduction", "reduction_bnneck"]


def build_neck(name: NeckName, *, feature_dim: int, embedding_dim: int | None = None) -> Neck:
    """Build a neck.

    Args:
        name: Which one: ``none``, ``bnneck`` (batch normalisation), ``reduction`` (linear layer) or
            ``reduction_bnneck`` (the one after the other).
        feature_dim: Channels C of the pooled feature, at least 1.
        embedding_dim: Width D after a reduction, at least 1; None without one.

    Returns:
        A module from (B, C) to ``before`` and ``after``, each (B, D).

    Raises:
        ConfigError: No neck has that name, or ``embedding_dim`` is missing or has no use.
    """
    require_choice("neck", name, get_args(NeckName))
    has_reduction = name in ("reduction", "reduction_bnneck")
    if has_reduction and embedding_dim is None:
        raise ConfigError(
            f"embedding_dim: neck {name} needs the width of its reduction; give it, for example "
            "embedding_dim: 512"
        )
    if embedding_dim is not None:
        require_positive("embedding_dim", embedding_dim)
        if not has_reduction:
            other = "reduction_bnneck" if name == "bnneck" else "reduction"
            raise ConfigError(
                f"embedding_dim: got {embedding_dim}, but neck {name} keeps the backbone's width "
                f"({feature_dim}); remove it, or set neck: {other}"
            )
    return Neck(
        feature_dim=feature_dim,
        reduced_dim=embedding_dim,
        has_bottleneck=name in ("bnneck", "reduction_bnneck"),
    )
