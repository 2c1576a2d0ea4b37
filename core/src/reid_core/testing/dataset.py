"""The checks of a data set."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import numpy as np

from reid_core.data.image_reader import decode_image
from reid_core.data.manifest import SPLITS, Manifest
from reid_core.testing.base import Conformance
from reid_core.testing.dataset_probe import build_elsewhere, fingerprint
from reid_core.testing.randomness import used_generators
from reid_core.testing.tensors import describe

#: Images that are decoded, of each split.
_DECODED = 2


class DatasetConformance(Conformance):
    """The checks of a data set: a manifest of what lies on the disk.

    A data set that reads files needs some: :meth:`prepare` writes them and returns the parameters
    that point there.
    """

    kind = "datasets"

    def prepare(self, folder: Path) -> Mapping[str, object]:
        """Write what the data set reads, and return the parameters that say where it is.

        Args:
            folder: An empty folder.

        Returns:
            Parameters, which go before those of the class.
        """
        return {}

    def build_manifest(self, folder: Path) -> Manifest:
        """Build the data set on files in ``folder``."""
        manifest = self._built(self._arguments(folder))
        self.require(
            isinstance(manifest, Manifest),
            f"it returns {describe(manifest)}; expected a reid_core.Manifest",
        )
        assert isinstance(manifest, Manifest)
        return manifest

    # Checks.

    def test_manifest_has_usable_splits(self, tmp_path: Path) -> None:
        """There is something to train on, or queries with a gallery."""
        manifest = self.build_manifest(tmp_path)
        counts = {split: len(manifest.select(split)) for split in SPLITS}
        self.require(bool(manifest.name.strip()), "the manifest's name is empty")
        self.require(
            len(manifest) > 0, "the manifest has no rows; let prepare() write a few images"
        )
        self.require(
            (counts["query"] > 0) == (counts["gallery"] > 0),
            f"it has {counts['query']} queries and {counts['gallery']} gallery images; expected "
            "both splits or neither",
        )
        identities = len(np.unique(manifest.select("train").pids))
        self.require(
            counts["train"] == 0 or identities > 1,
            f"its training split has {identities} identity; expected at least 2",
        )

    def test_files_exist_and_are_images(self, tmp_path: Path) -> None:
        """Paths are relative to the root, with forward slashes, and lead to images."""
        manifest = self.build_manifest(tmp_path)
        for path in manifest.paths.tolist():
            self.require(
                not PurePosixPath(path).is_absolute() and "\\" not in path,
                f"path {path!r} is not relative with forward slashes; use "
                "file.relative_to(root).as_posix()",
            )
            with self.attempt(
                f"reading {manifest.images.locate(path)}",
                "expected a file: paths are relative to the manifest's root, or what its store "
                "knows",
            ):
                manifest.images.read(path)
        for split in SPLITS:
            rows = manifest.select(split)
            for path in rows.paths[:_DECODED].tolist():
                with self.attempt(f"reading {path}", "expected an image file"):
                    decode_image(rows.images.read(path), path)

    def test_cameras_are_known_or_said_not_to_be(self, tmp_path: Path) -> None:
        """Without cameras, ``camids`` is 0 in every row, as ``no_cameras`` makes it."""
        manifest = self.build_manifest(tmp_path)
        self.require(
            manifest.has_cameras or not np.any(manifest.camids != 0),
            "it says has_cameras=False, and its camids are not all 0; use "
            "reid_core.data.manifest.no_cameras(len(paths))",
        )

    def test_two_builds_are_equal(self, tmp_path: Path) -> None:
        """Rows and their order are a function of the files alone."""
        arguments = self._arguments(tmp_path)
        expected = fingerprint(self._built(arguments))
        self.require(
            fingerprint(self._built(arguments)) == expected,
            "two builds give different rows or another order",
        )
        with self.attempt("in another process", "expected it to be built there too"):
            elsewhere = build_elsewhere(self.ref().qualified, arguments)
        for circumstance, found in elsewhere.items():
            self.require(
                found == expected,
                f"another process with {circumstance} gives different rows or another order; "
                "sort what you list, and iterate over no set",
            )

    def test_can_be_sent_to_a_worker(self, tmp_path: Path) -> None:
        """The manifest survives pickling unchanged."""
        manifest = self.build_manifest(tmp_path)
        with self.attempt("in pickle", "expected arrays and plain types in the manifest"):
            copied = pickle.loads(pickle.dumps(manifest))
        self.require(
            fingerprint(copied) == fingerprint(manifest), "the manifest changes when it is pickled"
        )

    def test_random_state_of_the_run_is_left_alone(self, tmp_path: Path) -> None:
        """Building the data set touches no global generator."""
        arguments = self._arguments(tmp_path)
        used = used_generators(lambda: self._built(arguments))
        self.require(
            not used,
            f"it uses the global generator of {', '.join(used)}; make a generator of its own from "
            "a parameter `seed`",
        )

    # Helpers.

    def _arguments(self, folder: Path) -> dict[str, object]:
        return {**self.prepare(folder), **self.parameters}

    def _built(self, arguments: Mapping[str, object]) -> object:
        with self.attempt(
            f"with {dict(arguments)!r}",
            "expected to find its files: write some in prepare(), or set `parameters`",
        ):
            return self.build_with(arguments)
