"""Transforms that know where they come from, so that what they do wrong can be said by name."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from reid_core.data.transforms import BatchTransform, ImageTransform
from reid_core.errors import PluginError


class NamedImageTransform(ImageTransform):
    """An image transform with its origin.

    It can be sent to a worker whose Python cannot import the transform's class: there the first
    call says so.

    Args:
        transform: What changes the images.
        origin: Name, distribution, version and entry point, for messages.
    """

    def __init__(self, transform: ImageTransform, origin: str) -> None:
        self.origin = origin
        self._transform: ImageTransform | None = transform
        self._pickled = b""

    def __call__(self, image: Tensor, rng: np.random.Generator) -> Tensor:
        """Return what the transform makes of a (3, H, W) uint8 image.

        Raises:
            PluginError: It is another shape or type, or the transform does not exist in this
                process.
        """
        transform = self._transform if self._transform is not None else self._unpacked()
        with _blaming(self.origin):
            changed: object = transform(image, rng)
        if not isinstance(changed, Tensor):
            made = f"a {type(changed).__name__}"
        elif changed.dtype != torch.uint8 or changed.shape != image.shape:
            made = f"a {tuple(changed.shape)} {changed.dtype}"
        else:
            return changed
        raise PluginError(
            f"{self.origin} made {made}; expected (3, H, W) torch.uint8 of the size it got, "
            f"{tuple(image.shape)}"
        )

    def __getstate__(self) -> tuple[str, bytes]:
        """Return the origin and, as bytes of their own, the transform."""
        return self.origin, self._pickled or pickle.dumps(self._transform)

    def __setstate__(self, state: tuple[str, bytes]) -> None:
        """Take both; the transform is made of its bytes by the first call."""
        self.origin, self._pickled = state
        self._transform = None

    def _unpacked(self) -> ImageTransform:
        # Inside a starting worker an error could only be printed, and would leave the training
        # process to guess why the worker is gone.
        try:
            transform: ImageTransform = pickle.loads(self._pickled)
        except Exception as error:
            raise PluginError(
                f"{self.origin} does not exist in the worker process: {type(error).__name__}: "
                f"{error}; a worker that is not forked has only what can be imported, not what a "
                "notebook, the interpreter, or a script below 'if __name__ == \"__main__\"' "
                "defines: put the class into a module, or set data.workers=0 (or, on Linux, "
                "data.start_method=fork)"
            ) from error
        self._transform = transform
        return transform


class NamedBatchTransform(BatchTransform):
    """A batch transform with its origin.

    Args:
        transform: What changes the batches.
        origin: Name, distribution, version and entry point, for messages.
    """

    def __init__(self, transform: BatchTransform, origin: str) -> None:
        self.origin = origin
        self.mixes_images = transform.mixes_images
        self._transform = transform

    def __call__(self, images: Tensor, rng: np.random.Generator) -> Tensor:
        """Return what the transform makes of (B, 3, H, W) float32 images."""
        with _blaming(self.origin):
            return self._transform(images, rng)


@contextmanager
def _blaming(origin: str) -> Iterator[None]:
    """Name the origin in whatever is raised."""
    try:
        yield
    except SystemExit as error:
        # In a worker it would end the process, and nobody would know why.
        raise PluginError(f"{origin} called sys.exit({error.code!r})") from error
    except Exception as error:
        error.add_note(f"raised by {origin}")
        raise
