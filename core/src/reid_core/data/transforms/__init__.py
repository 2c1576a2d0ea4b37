"""Transforms: augmentation of single images in the workers, and of whole batches on the device."""

from reid_core.data.transforms.base import BatchTransform, ImageTransform, split_stages

__all__ = ["BatchTransform", "ImageTransform", "split_stages"]
