"""The position table of a weights file, on the grid of the network that loads it."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping

from timm.layers.pos_embed import resample_abs_pos_embed
from torch import Tensor, nn

from reid_core.errors import CheckpointError, ConfigError

_log = logging.getLogger(__name__)

#: A grid this near to the aspect ratio of the network's own, as a factor, is surely meant.
_SAME_RATIO = 1.1
#: A grid farther from it than this factor is not considered.
_NEAR_RATIO = 2.0

Grid = tuple[int, int]


def fit_position_table(
    state: Mapping[str, Tensor], network: nn.Module, *, weights_grid: Grid | None, source: str
) -> Tensor | None:
    """Bring a file's position table to the grid of the network's patches.

    Rows and columns are resized apart (bicubic, antialiased, as timm does for its own weights);
    entries of class and register tokens stay as they are.

    Args:
        state: Tensors by timm's key names.
        network: A timm model.
        weights_grid: Rows and columns of patches the file was trained with; None finds them out.
        source: Where the tensors came from, for messages.

    Returns:
        (1, tokens, C) as the network wants it, or None where file or network has no such table.

    Raises:
        ConfigError: ``weights_grid`` is given and there is no such table.
        CheckpointError: The grid of the file is not what was given, or cannot be told.
    """
    table, own, grid = state.get("pos_embed"), _table_of(network), _grid_of(network)
    # The mask token marks DINOv2's original release, whose table timm converts by itself.
    if table is None or own is None or grid is None or table.ndim != 3 or "mask_token" in state:
        if weights_grid is not None:
            raise ConfigError(
                f"weights_grid: {list(weights_grid)} is given, but {source} and the model have no "
                "position table in common; remove weights_grid"
            )
        return None
    num_prefix = own.shape[1] - math.prod(grid)
    found = _source_grid(table.shape[1] - num_prefix, grid, weights_grid, source)
    if found != grid:
        _log.info("%s: position table resized from %d×%d to %d×%d", source, *found, *grid)
    # Copied, for it may be the file's own tensor.
    return resize_position_table(table, source=found, target=grid, num_prefix=num_prefix).clone()


def resize_position_table(table: Tensor, *, source: Grid, target: Grid, num_prefix: int) -> Tensor:
    """Resize a position table on both axes.

    Args:
        table: (1, ``num_prefix`` + h · w, C) floating point.
        source: Rows h and columns w of the table.
        target: Rows and columns wanted.
        num_prefix: Entries before the grid, which are kept.

    Returns:
        (1, ``num_prefix`` + h' · w', C), same dtype.
    """
    resized: Tensor = resample_abs_pos_embed(
        table, new_size=list(target), old_size=list(source), num_prefix_tokens=num_prefix
    )
    return resized


def _source_grid(count: int, own: Grid, given: Grid | None, source: str) -> Grid:
    if given is not None:
        if math.prod(given) != count or min(given) < 1:
            raise CheckpointError(
                f"weights_grid: {list(given)} makes {math.prod(given)} patches, but the position "
                f"table of {source} has {count}; expected rows and columns of the patches that it "
                "was trained with, for example [16, 8] for 256×128 images and patches of 16"
            )
        return given
    if count == math.prod(own):
        return own
    side = math.isqrt(max(count, 0))
    if side > 0 and side * side == count:
        return side, side
    return _grid_by_ratio(count, own, source)


def _grid_by_ratio(count: int, own: Grid, source: str) -> Grid:
    """Find the one grid of ``count`` patches whose aspect ratio is near the network's own."""
    grids = [(count // w, w) for w in range(1, count + 1) if count % w == 0]
    near = [grid for grid in grids if _ratio_factor(grid, own) <= _NEAR_RATIO]
    same = [grid for grid in near if _ratio_factor(grid, own) <= _SAME_RATIO]
    for candidates in (same, near):
        if len(candidates) == 1:
            _log.warning(
                "%s: its %d positions are taken as %d×%d patches, the only grid with an aspect "
                "ratio near that of image_size; state it with weights_grid: [rows, columns]",
                source,
                count,
                *candidates[0],
            )
            return candidates[0]
    listed = " or ".join(f"[{rows}, {columns}]" for rows, columns in same or near or grids)
    raise CheckpointError(
        f"{source}: its position table has {count} patches, which is no square, and its grid is "
        f"not known{f'; it may be {listed}' if listed else ''}. Give weights_grid: [rows, "
        "columns], the patches that it was trained with, for example [16, 8] for 256×128 images "
        "and patches of 16"
    )


def _ratio_factor(grid: Grid, own: Grid) -> float:
    factor = (grid[0] / grid[1]) / (own[0] / own[1])
    return max(factor, 1 / factor)


def _table_of(network: nn.Module) -> Tensor | None:
    table = getattr(network, "pos_embed", None)
    return table if isinstance(table, Tensor) and table.ndim == 3 else None


def _grid_of(network: nn.Module) -> Grid | None:
    grid = getattr(getattr(network, "patch_embed", None), "grid_size", None)
    return (int(grid[0]), int(grid[1])) if isinstance(grid, tuple | list) else None
