"""Open set: some queries show nobody of the gallery, and that is part of the measurement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from reid_core.errors import ConfigError
from reid_core.evaluation.protocols.base import Protocol
from reid_core.evaluation.protocols.cameras import AnyCamera, OtherCameras

Cameras = Literal["other", "any"]


@dataclass(frozen=True)
class OpenSetOtherCameras(OtherCameras):
    """Search in other cameras; queries without a match are unknown probes."""

    keeps_unmatched: ClassVar[bool] = True

    def without_cameras(self) -> Protocol:
        """Return the rule that looks at no camera."""
        return open_set(cameras="any")


@dataclass(frozen=True)
class OpenSetAnyCamera(AnyCamera):
    """Search everywhere; queries without a match are unknown probes."""

    keeps_unmatched: ClassVar[bool] = True


def open_set(*, cameras: Cameras = "other") -> Protocol:
    """Return the protocol for queries of whom some are not in the gallery.

    A query without an entry that counts as its match is an unknown probe: it is not skipped but
    measured, by how often a system would take it for somebody. mAP, CMC and mINP are over the mated
    queries alone. Junk (pid -1) of the gallery is left out; distractors (pid 0) stay.

    Args:
        cameras: ``other`` leaves out gallery entries with both pid and camid of the query, so that
            whoever is enrolled by the query's camera alone is unknown; ``any`` leaves out none.

    Source: Phillips, Grother and Micheals, Evaluation Methods in Face Recognition, 2011 (open-set
    identification).
    """
    if cameras not in ("other", "any"):
        raise ConfigError(f"protocol open_set: cameras is {cameras!r}; expected 'other' or 'any'")
    rule = "matches in the query's own camera left out" if cameras == "other" else "any camera"
    kind = OpenSetOtherCameras if cameras == "other" else OpenSetAnyCamera
    return kind(
        name="open_set",
        description=(
            f"open set: {rule}, queries without a match are unknown probes, figures over the "
            "mated ones, junk (pid -1) ignored"
        ),
    )
