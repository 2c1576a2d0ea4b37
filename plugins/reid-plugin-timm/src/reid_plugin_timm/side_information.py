"""A learned vector for each camera or view, added to the tokens of a transformer."""

from __future__ import annotations

import logging
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reid_core.errors import CheckpointError, ConfigError

_log = logging.getLogger(__name__)

Kind = Literal["camera", "view", "camera_view"]

#: What each kind wants to know of an image.
CONDITIONS: dict[Kind, tuple[str, ...]] = {
    "camera": ("camids",),
    "view": ("viewids",),
    "camera_view": ("camids", "viewids"),
}


class SideInformation(nn.Module):
    """Side information embedding (SIE): tokens + λ · table[code].

    The code is the camera, the view, or camera · num_views + view.

    Args:
        kind: What the table knows.
        num_cameras: Cameras of the training sets; None means unknown.
        num_views: Views of the training sets; None means unknown.
        feature_dim: Channels C of the tokens.
        weight: λ > 0.
        tokens: ``"all"`` adds to every token, as TransReID does; ``"class"`` to the first alone,
            as CLIP-ReID does.

    Raises:
        ConfigError: A number that the kind needs is unknown.

    Source: He et al., "TransReID: Transformer-based Object Re-Identification", ICCV 2021,
    section 3.3.
    """

    def __init__(
        self,
        *,
        kind: Kind,
        num_cameras: int | None,
        num_views: int | None,
        feature_dim: int,
        weight: float,
        tokens: Literal["all", "class"],
    ) -> None:
        super().__init__()
        if weight <= 0:
            raise ConfigError(f"sie_weight: got {weight}, expected a number above 0")
        self.conditions = CONDITIONS[kind]
        self._num_views = _known(num_views, "views", kind) if "viewids" in self.conditions else 1
        cameras = _known(num_cameras, "cameras", kind) if "camids" in self.conditions else 1
        self._counts = f"{cameras} camera(s) × {self._num_views} view(s)"
        self._weight = weight
        self._tokens = tokens
        self.table = nn.Parameter(torch.empty(cameras * self._num_views, 1, feature_dim))
        nn.init.trunc_normal_(self.table, std=0.02)

    def forward(self, tokens: Tensor, camids: Tensor | None, viewids: Tensor | None) -> Tensor:
        """Add to tokens (B, N, C) what is known of their images; same shape.

        Args:
            tokens: The class token first, positions added already.
            camids: (B,) int64, 0..num_cameras-1, where the kind wants it.
            viewids: (B,) int64, 0..num_views-1, where the kind wants it.

        Raises:
            ConfigError: A code that the kind wants is missing.
        """
        # The look-up of a table has the same gradient in every run, which indexing has not.
        added = self._weight * F.embedding(self._codes(camids, viewids), self.table[:, 0])[:, None]
        if self._tokens == "all":
            return tokens + added
        return torch.cat([tokens[:, :1] + added, tokens[:, 1:]], dim=1)

    def load_table(self, table: Tensor | None, *, source: str, reset: bool) -> None:
        """Take over the table of a weights file.

        Args:
            table: (codes, 1, C), or None where the file has none: the new one stays.
            source: Where it came from, for messages.
            reset: Keep the new table where the file's is of another shape.

        Raises:
            CheckpointError: The file's table is of another shape.
        """
        if table is None:
            _log.info("%s has no camera or view table; it starts from random values", source)
        elif table.shape == self.table.shape:
            self.table.data.copy_(table)
        elif reset:
            _log.warning(
                "%s: its camera or view table %s does not fit %s (%s); it starts anew",
                source,
                tuple(table.shape),
                tuple(self.table.shape),
                self._counts,
            )
        else:
            raise CheckpointError(
                f"{source}: its camera or view table has {table.shape[0]} codes of "
                f"{table.shape[-1]} channels, this data has {self.table.shape[0]} "
                f"({self._counts}) of {self.table.shape[-1]}: it was trained on other cameras. "
                "Set `sie_reset: true` to start the table anew, or `sie: null` to do without one"
            )

    def _codes(self, camids: Tensor | None, viewids: Tensor | None) -> Tensor:
        given = {"camids": camids, "viewids": viewids}
        codes: Tensor | None = None
        for name in self.conditions:
            code = given[name]
            if code is None:
                raise ConfigError(
                    f"sie: the backbone adds a vector for {' and '.join(self.conditions)}, but "
                    f"was called without {name}; call it as backbone(images, {name}=...), with a "
                    "model that hands on conditions"
                )
            codes = code if codes is None else codes * self._num_views + code
        assert codes is not None  # every kind has a condition
        return codes


def refuse_table(table: Tensor | None, *, source: str) -> None:
    """Refuse a file with a camera or view table where the backbone has none.

    Args:
        table: The file's table, or None.
        source: Where it came from.

    Raises:
        CheckpointError: There is one.
    """
    if table is not None:
        raise CheckpointError(
            f"{source} has a camera or view table of {table.shape[0]} codes, which its features "
            "depend on; set `sie: camera`, `sie: view` or `sie: camera_view`, whichever it was "
            "trained with (and `sie_reset: true` for other cameras)"
        )


def _known(count: int | None, what: str, kind: Kind) -> int:
    if count is not None and count > 0:
        return count
    column = {"cameras": "cameras of its images (camids)", "views": "views of its images (viewids)"}
    raise ConfigError(
        f"sie: {kind} needs the number of {what}, and it is unknown: the data set does not give "
        f"the {column[what]}. Name a data set that does, or set `sie: null`"
    )
