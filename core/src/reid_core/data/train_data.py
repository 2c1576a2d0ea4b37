"""The training loader of a config."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from reid_core.config import Config
from reid_core.data.cameras import camera_codes
from reid_core.data.columns import number_columns, shared_columns
from reid_core.data.image_dataset import Collate, ImageDataset
from reid_core.data.image_rows import ImageRows
from reid_core.data.labels import LabelMap
from reid_core.data.limits import limited
from reid_core.data.loader import Normalize, TrainLoader, usable_workers
from reid_core.data.manifest import Manifest
from reid_core.data.named_transforms import NamedBatchTransform, NamedImageTransform
from reid_core.data.samplers import EpochSampler
from reid_core.data.transforms import BatchTransform, ImageTransform, split_stages
from reid_core.distributed.processes import ALONE, Processes
from reid_core.errors import ConfigError, PluginError
from reid_core.plugins.registries import SAMPLERS, TRANSFORMS


def build_train_loader(
    config: Config,
    manifests: Sequence[Manifest],
    label_map: LabelMap,
    *,
    device: torch.device,
    processes: Processes = ALONE,
) -> TrainLoader:
    """Build the loader.

    Args:
        config: The whole configuration.
        manifests: Training rows, a manifest each set.
        label_map: Their labels.
        device: Where batches go.
        processes: Those that share each batch.

    Raises:
        ConfigError: An epoch would have no batch, or a parameter does not fit.
        DataError: The sampler cannot draw its batches from this data.
        PluginError: A sampler or transform does not keep its contract.
    """
    data = config.data
    labels, camids = label_map.labels(manifests), camera_codes(manifests)
    sampler = build_sampler(
        config,
        labels,
        camids,
        columns=shared_columns(manifests),
        sizes={m.name: len(m) for m in manifests},
    )
    image_transforms, batch_transforms = build_transforms(config)
    workers = usable_workers(data.workers)
    if workers:
        require_picklable(image_transforms)
    dataset = ImageDataset(
        ImageRows(manifests),
        image_size=data.image_size,
        interpolation=data.interpolation,
        resize=data.resize,
        mean=data.mean,
        transforms=image_transforms,
        broken_images=data.broken_images,
        labels=labels,
    )
    return TrainLoader(
        dataset=dataset,
        collate=Collate(labels, camids, number_columns(manifests)),
        sampler=sampler,
        normalize=Normalize(data.mean, data.std),
        batch_transforms=batch_transforms,
        device=device,
        seed=config.seed,
        workers=workers,
        start_method=data.start_method,
        rank=processes.rank,
        num_ranks=processes.count,
        repeats_first_epoch=config.train.overfit_batches is not None,
    )


def build_transforms(config: Config) -> tuple[list[ImageTransform], list[BatchTransform]]:
    """Build the transforms of a config, by the place they act in, in the config's order.

    Raises:
        ConfigError: A parameter does not fit.
        PluginError: One cannot be loaded, or is neither an image nor a batch transform.
    """
    images: list[ImageTransform] = []
    batches: list[BatchTransform] = []
    for component in config.data.transforms:
        call = component.as_call()
        built = TRANSFORMS.build(call, **config.data.transform_context)
        origin = f"transform {call['name']} of {TRANSFORMS.resolve(str(call['name'])).origin()}"
        of_images, of_batches = split_stages([built])
        images += [NamedImageTransform(transform, origin) for transform in of_images]
        batches += [NamedBatchTransform(transform, origin) for transform in of_batches]
    return images, batches


def build_sampler(
    config: Config,
    labels: NDArray[np.int64],
    camids: NDArray[np.int64],
    *,
    columns: Mapping[str, NDArray[np.generic]] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> EpochSampler:
    """Build the sampler, cut to the batches that are asked for; an epoch is never empty.

    Args:
        config: The whole configuration.
        labels: (N,) labels of the rows.
        camids: (N,) camera codes of the rows, -1 where not known.
        columns: Further columns of the rows, each (N, …); None is none.
        sizes: Rows of each training set, by name, in their order; None is one set.

    Raises:
        ConfigError: It is, or a parameter does not fit.
        PluginError: What the sampler's factory returns is no :class:`EpochSampler`.
    """
    call = config.data.batch.as_call()
    sizes = {"train": len(labels)} if sizes is None else sizes
    sampler = SAMPLERS.build(
        call,
        labels=labels,
        camids=camids,
        columns=columns or {},
        sets=np.repeat(np.arange(len(sizes)), list(sizes.values())),
        set_names=tuple(sizes),
        seed=config.seed,
    )
    if not isinstance(sampler, EpochSampler):
        raise PluginError(
            f"sampler {call['name']} of {SAMPLERS.resolve(str(call['name'])).origin()} gave a "
            f"{type(sampler).__name__} without __len__, batches(epoch) and summary(); see "
            "reid_core.data.samplers.EpochSampler"
        )
    if len(sampler) == 0:
        raise ConfigError(
            f"data.batch: 0 batches per epoch: the training data has {len(labels)} images of "
            f"{len(np.unique(labels))} identities, less than one batch of sampler {call['name']}; "
            "make the batch smaller"
        )
    return limited(sampler, config.train)


def require_picklable(transforms: Sequence[ImageTransform]) -> None:
    """Check that transforms can be sent to workers, which only some start methods need.

    Raises:
        PluginError: One cannot, for example because it holds a lambda.
    """
    for transform in transforms:
        try:
            pickle.dumps(transform)
        except Exception as error:
            raise PluginError(
                f"{_name_of(transform)} cannot be sent to worker processes: {error}; keep lambdas "
                "and local functions out of it, or set data.workers=0"
            ) from error


def _name_of(transform: ImageTransform) -> str:
    if isinstance(transform, NamedImageTransform):
        return transform.origin
    return f"transform {type(transform).__name__} of {type(transform).__module__}"
