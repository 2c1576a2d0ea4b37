"""People who change their clothes: matches in the query's own clothes do not count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import ConfigError
from reid_core.evaluation.embeddings import Labels
from reid_core.evaluation.protocols.base import Protocol
from reid_core.evaluation.protocols.cameras import OtherCameras
from reid_core.evaluation.protocols.columns import junk_excluded, same_value

#: The column that numbers clothes.
CLOTHIDS = "clothids"


@dataclass(frozen=True)
class OtherClothes(Protocol):
    """Search for people in other clothes: their images in the query's clothes are left out.

    Args:
        name: What a config calls it.
        description: The rule in one line.
    """

    excludes_own_pid_only: ClassVar[bool] = True

    def excluded(self, query: Labels, gallery: Labels) -> NDArray[np.bool_]:
        """Leave out junk, and entries with both the pid and the clothes of the query.

        Raises:
            DataError: The test set has no column ``clothids``.
        """
        mask = same_value(query, gallery, CLOTHIDS)
        mask &= query.pids[:, None] == gallery.pids
        mask |= junk_excluded(query, gallery)
        return mask


@dataclass(frozen=True)
class OtherClothesAndCameras(OtherClothes):
    """Search for people in other clothes and in other cameras.

    Args:
        name: What a config calls it.
        description: The rule in one line.
    """

    needs_cameras: ClassVar[bool] = True

    def excluded(self, query: Labels, gallery: Labels) -> NDArray[np.bool_]:
        """Leave out junk, and entries with the pid and the clothes or the camid of the query.

        Raises:
            DataError: The test set has no column ``clothids``.
        """
        in_camera: NDArray[np.bool_] = query.camids[:, None] == gallery.camids
        in_camera &= query.pids[:, None] == gallery.pids
        in_camera |= super().excluded(query, gallery)
        return in_camera

    def without_cameras(self) -> Protocol:
        """Keep the rule of clothes, under the name ``clothes_change``."""
        return clothes_change(cameras="any")


def clothes_change(*, cameras: Literal["other", "any"] = "other") -> Protocol:
    """Return a protocol for any data set that tells clothes, in its column ``clothids``.

    Matches in the query's clothes are left out, and with ``cameras`` other also those in the
    query's camera. Junk (pid -1) is left out. A query without a match is skipped, and counted.

    Args:
        cameras: Whether matches count in ``other`` cameras than the query's, or in ``any``, for
            data whose cameras are not known.

    Raises:
        ConfigError: ``cameras`` is another word.

    Source: the rule of LTCC, see :func:`ltcc`.
    """
    if cameras not in ("other", "any"):
        raise ConfigError(f"protocol clothes_change: cameras is {cameras!r}; expected other or any")
    if cameras == "any":
        return OtherClothes(
            name="clothes_change",
            description=(
                "matches in the query's own clothes left out, camera filter off, "
                "junk (pid -1) ignored, queries without a match skipped"
            ),
        )
    return OtherClothesAndCameras(
        name="clothes_change",
        description=(
            "matches in the query's own clothes or camera left out, junk (pid -1) ignored, "
            "queries without a match skipped"
        ),
    )


#: Whether matches in the query's clothes count.
Setting = Literal["standard", "changed"]


def ltcc(*, setting: Setting = "standard") -> Protocol:
    """Return one of the two protocols of LTCC.

    ``standard`` leaves out matches in the query's camera. ``changed``, the cloth-changing
    protocol, also leaves out those in the query's clothes (column ``clothids``); queries that are
    then without a match are skipped, and counted.

    Args:
        setting: ``standard`` or ``changed``.

    Raises:
        ConfigError: ``setting`` is another word.

    Source: Qian et al., Long-Term Cloth-Changing Person Re-identification, ACCV 2020.
    """
    if setting not in get_args(Setting):
        raise ConfigError(f"protocol ltcc: setting is {setting!r}; expected standard or changed")
    if setting == "changed":
        return OtherClothesAndCameras(
            name="ltcc",
            description=(
                "setting changed: matches in the query's own clothes or camera left out, "
                "junk (pid -1) ignored, queries without a match skipped"
            ),
        )
    return OtherCameras(
        name="ltcc",
        description=(
            "setting standard: matches in the query's own camera left out, in any clothes, "
            "junk (pid -1) ignored, queries without a match skipped"
        ),
    )
