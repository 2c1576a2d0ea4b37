"""P×K sampling in which the images of an identity come from different cameras, or views."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from reid_core.data.samplers.coverage import Share, coverage
from reid_core.data.samplers.groups import (
    draw,
    identities_per_batch,
    rows_by_label,
    too_few_identities,
)
from reid_core.errors import ConfigError, DataError, did_you_mean


class BalancedIdentitySampler:
    """P×K batches in which each identity gives one image, and K − 1 from other cameras.

    An epoch takes each identity once, in random order; the identities that do not fill a batch are
    left out, other ones each time. Of an identity one image is drawn, and then ``instances`` − 1 of
    its images from other cameras than that one's. These repeat, evenly, where there are fewer.
    Where no other camera saw it, its other images are drawn instead; a single image repeats.

    With ``across`` it is another column than the camera that differs: the modality, so that each
    identity comes in colour and in infrared, or the clothes, or the view.

    Args:
        labels: (N,) labels of the rows.
        camids: (N,) cameras of the rows, -1 where not known.
        columns: Further columns of the rows, each (N,).
        seed: Seed of every epoch.
        identities: P, identities a batch. Give this or ``size``.
        instances: K, images an identity.
        size: P×K, images a batch.
        across: What differs: ``camids``, or the name of a column such as ``modalities``.

    Raises:
        ConfigError: Neither or both of ``identities`` and ``size``, a size that is no multiple of
            ``instances``, one identity a batch, or a column that the training sets do not have.
        DataError: The data has fewer identities than a batch needs, or its cameras are not known.

    Source: He et al., FastReID, 2020, and Dai et al., Cluster Contrast, 2022; there too few images
        are drawn with replacement instead of in turn.
    """

    def __init__(
        self,
        *,
        labels: NDArray[np.int64],
        camids: NDArray[np.int64],
        seed: int,
        identities: int | None = None,
        instances: int = 4,
        size: int | None = None,
        across: str = "camids",
        columns: Mapping[str, NDArray[np.generic]] | None = None,
    ) -> None:
        self.identities = identities_per_batch(identities, instances, size)
        self.instances = instances
        self._rows = rows_by_label(labels)
        if len(self._rows) < self.identities:
            raise DataError(too_few_identities(len(self._rows), self.identities, instances))
        self._across = across
        self._sources = _codes(across, camids, columns or {})
        self._length = len(self._rows) // self.identities
        self._seed = seed

    def __len__(self) -> int:
        return self._length

    def batches(self, epoch: int) -> Iterator[NDArray[np.int64]]:
        """Yield the batches of an epoch, each (P*K,), images of one identity side by side."""
        rng = np.random.default_rng(np.random.SeedSequence((self._seed, epoch)))
        order = rng.permutation(len(self._rows))[: self._length * self.identities]
        for chosen in order.reshape(self._length, self.identities):
            yield np.concatenate([self._group(self._rows[identity], rng) for identity in chosen])

    def summary(self) -> str:
        """Say what an epoch holds, how much it sees, and how many identities one camera saw."""
        total = sum(len(rows) for rows in self._rows)
        seen, people = self._length * self.identities, len(self._rows)
        images = sum(self._expected_images(rows) for rows in self._rows) * seen / people
        single = sum(len(np.unique(self._sources[rows])) == 1 for rows in self._rows)
        text = (
            f"{self._length} batches of {self.identities} identities x {self.instances} images "
            f"from different {_words(self._across)}: an epoch draws {seen * self.instances} from "
            f"{total} images, " + coverage(Share(images, total, "expected"), Share(seen, people))
        )
        if single:
            text += f"; {single} identities have one of the {_words(self._across)} only"
        return text

    def _group(self, rows: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        position = int(rng.integers(len(rows)))
        cameras = self._sources[rows]
        others = rows[cameras != cameras[position]]
        if len(others) == 0:
            others = np.delete(rows, position) if len(rows) > 1 else rows
        return np.concatenate(
            [rows[position : position + 1], draw(others, self.instances - 1, rng)]
        )

    def _expected_images(self, rows: NDArray[np.int64]) -> float:
        """Return the mean number of different images in a group of one identity."""
        _, counts = np.unique(self._sources[rows], return_counts=True)
        others = len(rows) - counts if len(counts) > 1 else counts - 1
        distinct = 1 + np.minimum(others, self.instances - 1)
        return float((counts * distinct).sum() / len(rows))


def _codes(
    across: str, camids: NDArray[np.int64], columns: Mapping[str, NDArray[np.generic]]
) -> NDArray[np.int64]:
    """Return numbers that differ where the images of an identity shall."""
    if across != "camids":
        if across not in columns or columns[across].ndim != 1:
            known = ["camids", *(name for name in columns if columns[name].ndim == 1)]
            raise ConfigError(
                f"data.batch.across: the training sets have no column {across}"
                f"{did_you_mean(across, known)}; expected one of {', '.join(known)}"
            )
        codes: NDArray[np.int64] = np.unique(columns[across], return_inverse=True)[1]
        return codes
    unknown = int((camids < 0).sum())
    if unknown:
        raise DataError(
            f"sampler balanced_identity draws images of different cameras, and for {unknown} of "
            f"{len(camids)} training images the camera is not known; set data.batch.sampler to "
            "identity, or data.batch.across to a column that the data has"
        )
    return camids


def _words(across: str) -> str:
    return "cameras" if across == "camids" else across
