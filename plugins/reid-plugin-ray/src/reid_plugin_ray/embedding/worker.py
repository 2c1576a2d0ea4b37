"""A worker: it has the model and embeds one part after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reid_core import errors
from reid_core.errors import DataError, ReidError
from reid_plugin_ray.cluster import enter
from reid_plugin_ray.embedding.part_file import part_table, write_part
from reid_plugin_ray.embedding.plan import EmbedPlan

if TYPE_CHECKING:
    from reid_core.config import Config
    from reid_core.config.components import Component
    from reid_core.contracts import ReidModel
    from reid_core.data.manifest import Manifest
    from reid_core.engine.evaluation.extraction import Extraction
    from reid_core.engine.record.weights_info import WeightsInfo


@dataclass(frozen=True)
class EmbedJob:
    """What all workers have in common.

    Args:
        plan: The parts.
        output: Full path of their folder, which every machine sees.
        component: The data set by name and parameters.
        folder: Full path of the folder that relative paths start from.
        plugin_files: Full paths of Python files to run first.
    """

    plan: EmbedPlan
    output: str
    component: Mapping[str, object]
    folder: str
    plugin_files: tuple[str, ...] = ()


class Embedder:
    """Embeds parts; Ray Data makes one in each worker process.

    Args:
        job: What all workers have in common.
        manifest: The images.
        rows: (N,) their rows in the whole data set.
    """

    def __init__(self, job: EmbedJob, manifest: Manifest, rows: NDArray[np.int64]) -> None:
        self._job = job
        self._manifest = manifest
        self._rows = rows
        self._failure: ReidError | None = None
        try:
            self._load()
        except ReidError as error:
            # Raised here, Ray would start the worker again and again.
            self._failure = error

    def _load(self) -> None:
        from reid_core.cli.common import load_plugin_files
        from reid_core.config.load import config_from_plain
        from reid_core.engine.evaluation.weights import load_model
        from reid_core.engine.record.weights_info import WeightsInfo

        job = self._job
        enter(job.folder)
        load_plugin_files(job.plugin_files)
        weights = Path(job.plan.weights)
        self._config: Config = config_from_plain(job.plan.config, source=str(weights))
        self._info: WeightsInfo = WeightsInfo.of(weights)
        self._model: ReidModel = load_model(self._config, weights)

    def __call__(self, batch: Mapping[str, NDArray[np.int64]]) -> dict[str, NDArray[np.generic]]:
        """Embed parts and write their files.

        Args:
            batch: ``part``, numbers of parts.

        Returns:
            A row a part: ``part``, and ``error`` and ``error_kind``, empty where it went well.
        """
        told = [self._told(int(part)) for part in batch["part"]]
        return {key: np.array([one[key] for one in told]) for key in told[0]}

    def _told(self, part: int) -> dict[str, object]:
        report: dict[str, object] = {"part": part, "error": "", "error_kind": ""}
        try:
            if self._failure is not None:
                raise self._failure
            self.embed(part)
        except ReidError as error:
            # As a value: Ray would try the part again, and lose the kind of the error.
            report |= {"error": str(error), "error_kind": _kind(error)}
        return report

    def embed(self, part: int) -> None:
        """Embed a part and write its file.

        Args:
            part: Its number.

        Raises:
            DataError: An image is broken and may not be left out, or the file cannot be written.
        """
        plan = self._job.plan
        start = part * plan.rows_per_part
        stop = min(start + plan.rows_per_part, plan.num_rows)
        manifest = self._manifest.take(np.arange(start, stop))
        extraction = self._extraction(manifest)
        features, at = extraction.embed(self._model, lambda: None)
        paths = [extraction.dataset.path(int(row)) for row in at]
        rows = self._rows[start:stop]
        table = part_table(manifest.take(at), rows[at], paths, features.numpy())
        broken = [replace(image, row=int(rows[image.row])) for image in extraction.broken]
        path = plan.path(Path(self._job.output), part)
        try:
            write_part(path, table, broken)
        except OSError as error:
            raise DataError(f"{path} cannot be written: {error.strerror or error}") from error

    def _extraction(self, manifest: Manifest) -> Extraction:
        from reid_core.data.sources import TestSet
        from reid_core.engine.device import pick_device
        from reid_core.engine.evaluation.extraction import Extraction

        test = TestSet(manifest.name, manifest, 0)
        extraction = Extraction(test, self._config, pick_device(self._config.device))
        if "camids" in self._model.conditions:
            extraction.add_columns({"training_camids": self._camera_codes(manifest)})
        if "viewids" in self._model.conditions and "viewids" not in manifest.columns:
            raise DataError(
                f"data set {manifest.name}: the model is conditioned on views, and the set has no "
                "column viewids"
            )
        return extraction

    def _camera_codes(self, manifest: Manifest) -> NDArray[np.int64]:
        if self._info.cameras is None:
            raise DataError(
                f"data set {manifest.name}: the model is conditioned on cameras, and its weights "
                "do not say which; embed by the weights of a run folder"
            )
        named = self._info.name_in_training(_component(self._job.component))
        return self._info.cameras.codes(
            manifest if named is None else replace(manifest, name=named)
        )


def _kind(error: ReidError) -> str:
    """Return the name of an error's class in :mod:`reid_core.errors`, whose exit code counts."""
    kinds = (kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    return next(kinds).__name__


def _component(plain: Mapping[str, object]) -> Component:
    from reid_core.config.components import Component

    return Component.model_validate(plain)
