"""SYSU-MM01: infrared queries, and ten random galleries of visible images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import ConfigError, DataError
from reid_core.evaluation.embeddings import Labels
from reid_core.evaluation.protocols.base import JUNK_PID, Protocol, Scoring, Trial
from reid_core.evaluation.protocols.columns import junk_excluded, require_values, same_value
from reid_core.evaluation.protocols.draws import (
    draws_text,
    grouped_rows,
    published_draws,
    require_draws,
)
from reid_core.evaluation.protocols.modalities import MODALITIES

#: Where the gallery's images are from: the whole university, or indoors alone.
Mode = Literal["all", "indoor"]
#: Images of each identity and camera.
Shots = Literal[1, 10]

#: The column that is equal for cameras that look at one place.
PLACES = "places"
#: Visible cameras, by mode.
_CAMERAS: dict[Mode, tuple[int, ...]] = {"all": (1, 2, 4, 5), "indoor": (1, 2)}


@dataclass(frozen=True)
class InfraredSearch(Protocol):
    """The rule of SYSU-MM01.

    Args:
        name: What a config calls it.
        description: The rule in one line.
        mode: Which visible cameras are searched.
        shots: Images of each identity and camera in a gallery.
        num_draws: How many galleries are drawn.
        seed: Number of the first draw.
    """

    mode: Mode = "all"
    shots: Shots = 1
    num_draws: int = 10
    seed: int = 0

    needs_cameras: ClassVar[bool] = True
    reads_camera_numbers: ClassVar[bool] = True
    scoring: ClassVar[Scoring] = "identities"

    def excluded(self, query: Labels, gallery: Labels) -> NDArray[np.bool_]:
        """Leave out junk, and every entry of a camera that looks at the query's place.

        Raises:
            DataError: The test set has no column ``places``.
        """
        mask = same_value(query, gallery, PLACES)
        mask |= junk_excluded(query, gallery)
        return mask

    def trials(self, query: Labels, gallery: Labels) -> Sequence[Trial]:
        """Draw the galleries: of each identity and camera one image, or several.

        Raises:
            DataError: A column is missing, a query is visible or a gallery image infrared, a
                camera of the mode is missing, or the gallery is drawn already.
        """
        require_values(query, MODALITIES, "infrared", side="query", protocol=self.name)
        require_values(gallery, MODALITIES, "rgb", side="gallery", protocol=self.name)
        self._require_cameras(gallery)
        is_offered = np.isin(gallery.camids, _CAMERAS[self.mode]) & (gallery.pids != JUNK_PID)
        offered = np.flatnonzero(is_offered)
        groups = grouped_rows(offered + len(query), gallery.pids[offered], gallery.camids[offered])
        self._require_choice(groups)
        return published_draws(
            groups, np.arange(len(query)), shots=self.shots, draws=self.num_draws, seed=self.seed
        )

    def _require_cameras(self, gallery: Labels) -> None:
        cameras = np.unique(gallery.camids).tolist()
        missing = [camera for camera in _CAMERAS[self.mode] if camera not in cameras]
        if missing:
            raise DataError(
                f"protocol {self.name}: mode {self.mode} searches cameras "
                f"{_listed(_CAMERAS[self.mode])}, and the gallery has {_listed(cameras)}; expected "
                "data set sysu_mm01 with all of them (its parameter mode), or another "
                "evaluate.protocol"
            )

    def _require_choice(self, groups: Sequence[Sequence[int]]) -> None:
        if self.num_draws > 1 and all(len(group) == 1 for group in groups):
            raise DataError(
                f"protocol {self.name}: the gallery has one image of each identity and camera "
                f"already, so {self.num_draws} draws would all be the same; leave out the data "
                "set's parameter draw, so that all images can be drawn from, or set the "
                "protocol's draws to 1"
            )


def sysu_mm01(*, mode: Mode = "all", shots: Shots = 1, draws: int = 10, seed: int = 0) -> Protocol:
    """Return the protocol of SYSU-MM01.

    All infrared images (cameras 3 and 6) are queries. A gallery has, of each identity and visible
    camera, one image or ten, drawn at random. Cameras 2 and 3 look at one place: for a query of
    camera 3 all images of camera 2 are left out, those of other identities too.

    In the CMC each identity counts once, at its nearest image, as in the authors' code: rank 5 is
    the fifth identity. mAP and mINP count all images.

    With ``shots`` 1 the draws are those of the published code that most papers use: Python's
    generator seeded with the number of the draw, over identities and cameras in ascending order
    and images in the order of their names. For ``shots`` 10 no such code is known; the same
    generator draws here without putting back.

    Args:
        mode: ``all`` searches cameras 1, 2, 4 and 5, ``indoor`` cameras 1 and 2.
        shots: Images of each identity and camera in a gallery, 1 or 10.
        draws: How many galleries are drawn, 1 or more; figures are means over them.
        seed: Number of the first draw, 0 or more; 0 with ten draws is what is published.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Wu et al., RGB-Infrared Cross-Modality Person Re-Identification, ICCV 2017; the draws:
    Ye et al., Deep Learning for Person Re-identification: A Survey and Outlook, TPAMI 2021.
    """
    if mode not in get_args(Mode):
        raise ConfigError(f"protocol sysu_mm01: mode is {mode!r}; expected all or indoor")
    if shots not in get_args(Shots):
        raise ConfigError(f"protocol sysu_mm01: shots is {shots!r}; expected 1 or 10")
    require_draws(draws, seed, protocol="sysu_mm01")
    return InfraredSearch(
        name="sysu_mm01",
        description=(
            f"{mode} search: infrared queries, gallery of {shots} random visible "
            f"image{'s' * (shots > 1)} an identity and camera ({_listed(_CAMERAS[mode])}), entries "
            "of cameras at the query's place left out, CMC counts each identity once, "
            f"junk (pid -1) ignored, {draws_text(draws, seed)}"
        ),
        mode=mode,
        shots=shots,
        num_draws=draws,
        seed=seed,
    )


def _listed(cameras: Sequence[int]) -> str:
    return ", ".join(str(camera) for camera in cameras) or "none"
