"""The rearrangement of patch tokens before the local branch of TransReID."""

from __future__ import annotations

import torch
from torch import Tensor

from reid_core.errors import ConfigError


def local_groups(patches: Tensor, *, shift: int, shuffle_groups: int, parts: int) -> list[Tensor]:
    """Shift and shuffle patch tokens, and cut the result into groups of ``N // parts`` tokens.

    What is left over at the end, fewer than ``parts`` tokens and those that the shuffle appended,
    is in no group.

    Args:
        patches: (B, N, D), the patch tokens without prefix tokens.
        shift: As in :func:`shift_and_shuffle`.
        shuffle_groups: ``groups`` of :func:`shift_and_shuffle`.
        parts: Number of groups, at least 1.

    Returns:
        ``parts`` views (B, N // parts, D).

    Raises:
        ConfigError: There are fewer patches than ``shift`` or ``parts``.
    """
    count = patches.shape[1]
    least = max(shift, parts, 2)
    if count < least:
        raise ConfigError(
            f"transreid: the backbone gives {count} patch tokens; shift {shift} and {parts} parts "
            f"need at least {least}: use a larger data.image_size, or smaller model.shift and "
            "model.parts"
        )
    shuffled = shift_and_shuffle(patches, shift=shift, groups=shuffle_groups)
    length = count // parts
    return [shuffled[:, part * length : (part + 1) * length] for part in range(parts)]


def shift_and_shuffle(patches: Tensor, *, shift: int, groups: int) -> Tensor:
    """Move the first patches to the end, then read the sequence column by column.

    The first ``shift − 1`` patches go to the end: over the sequence with the class token at 0 this
    is ``tokens[shift:]`` followed by ``tokens[1:shift]``. The result is laid out as ``groups`` rows
    of equal length and read column by column, so that neighbours come from all parts of the image.
    Where ``groups`` does not divide N, the last but one token is appended until it does: once, with
    the 2 groups of the paper and an odd N.

    Args:
        patches: (B, N, D), the patch tokens without prefix tokens, N at least 2.
        shift: Where to begin in the sequence with class token, 1 to N; 1 moves nothing.
        groups: Rows, at least 1; 1 shuffles nothing.

    Returns:
        (B, N', D), N' the least multiple of ``groups`` that is at least N.

    Source: He et al., "TransReID: Transformer-based Object Re-Identification", section 3.3.
    """
    batch, count, width = patches.shape
    moved = torch.cat([patches[:, shift - 1 :], patches[:, : shift - 1]], dim=1)
    padding = moved[:, -2:-1].expand(-1, -count % groups, -1)
    rows = torch.cat([moved, padding], dim=1).reshape(batch, groups, -1, width)
    return rows.transpose(1, 2).reshape(batch, -1, width)
