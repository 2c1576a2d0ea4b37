"""Several models as one, by their embeddings."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Literal, cast, get_args

import torch
from torch import Tensor, nn

from reid_core.config.load import config_from_plain
from reid_core.contracts import ReidModel
from reid_core.engine.record.weights_info import WeightsInfo
from reid_core.engine.results import feature_of
from reid_core.errors import ConfigError, PluginError, UsageError

log = logging.getLogger("reid_core")

EnsembleHow = Literal["concat", "mean"]

#: Settings of the images that members share, since images are read once for all.
_IMAGE_SETTINGS = ("image_size", "interpolation", "resize", "mean", "std")


class EnsembleModel(ReidModel):
    """Models whose embeddings of an image are put together.

    Each member's embedding is scaled to length 1 first. ``concat`` puts them one after another and
    divides by √n, so that the whole has length 1: the cosine of two images is the mean of the
    members' cosines. ``mean`` is their mean, which says something where members share a space.

    Args:
        models: At least two, on one device.
        how: ``concat`` or ``mean``.

    Raises:
        UsageError: There are fewer than two, or ``how`` is something else.
    """

    def __init__(self, models: Sequence[ReidModel], *, how: EnsembleHow) -> None:
        super().__init__()
        if len(models) < 2:
            raise UsageError(f"an ensemble of {len(models)} models; expected at least two")
        if how not in get_args(EnsembleHow):
            raise UsageError(f"ensemble {how!r}; expected {' or '.join(get_args(EnsembleHow))}")
        self.models = nn.ModuleList(models)
        self.how = how
        wanted = {name for model in models for name in model.conditions}
        self.conditions = tuple(sorted(wanted))

    @property
    def embedding_note(self) -> str:
        """What the embedding is, in words, to be said beside figures."""
        word = "concatenation" if self.how == "concat" else "mean"
        return f"{word} of {len(self.models)} models, each L2-normalised"

    @property
    def test_feature(self) -> str | None:
        """Where the members' embeddings are taken from; None where they do not tell."""
        told = [feature_of(model) for model in self.models]
        return ", ".join(dict.fromkeys(filter(None, told))) or None

    def embed(
        self, images: Tensor, camids: Tensor | None = None, viewids: Tensor | None = None
    ) -> Tensor:
        """Return embeddings.

        Args:
            images: (B, 3, H, W) float32, normalised.
            camids: (B,) int64, where a member is conditioned on cameras.
            viewids: (B,) int64, where a member is conditioned on views.

        Returns:
            (B, D) float32; for ``concat`` D is the sum of the members' widths.

        Raises:
            PluginError: Members of a ``mean`` differ in width.
        """
        given = {"camids": camids, "viewids": viewids}
        parts: list[Tensor] = []
        for model in self.models:
            member = cast("ReidModel", model)
            values = {name: given[name] for name in member.conditions}
            parts.append(nn.functional.normalize(member.embed(images, **values).float(), dim=1))
        if self.how == "concat":
            return torch.cat(parts, dim=1) / math.sqrt(len(parts))
        widths = [int(part.shape[1]) for part in parts]
        if len(set(widths)) > 1:
            raise PluginError(
                f"the mean of embeddings of widths {', '.join(map(str, widths))} does not exist; "
                "expected models of one width: use --ensemble concat"
            )
        return torch.stack(parts).mean(dim=0)


def ensemble_of(
    models: Sequence[ReidModel], how: EnsembleHow, infos: Sequence[WeightsInfo] = ()
) -> EnsembleModel:
    """Make one model of several.

    Args:
        models: At least two, on one device.
        how: ``concat`` or ``mean``; see :class:`EnsembleModel`.
        infos: Where the weights of each come from: checked for images that suit all.

    Raises:
        ConfigError: The members were trained with different images; see
            :func:`require_same_images`.
        UsageError: There are fewer than two, or ``how`` is something else.
    """
    require_same_images(infos)
    ensemble = EnsembleModel(models, how=how)
    if any("camids" in model.conditions for model in models):
        _require_same_cameras(infos)
    if how == "mean":
        log.warning(
            "the mean of embeddings says something where models share a space, as checkpoints of "
            "one run do; for models that were trained apart use --ensemble concat"
        )
    return ensemble.eval()


def require_same_images(infos: Sequence[WeightsInfo]) -> None:
    """Refuse weights that were trained with images of different size, colours or resizing.

    Images are read once for all members. A file that does not say how it was trained is taken as
    it is.

    Args:
        infos: Where weights come from.

    Raises:
        ConfigError: Two differ in a setting of the images.
    """
    known = [(info, _image_settings(info.config)) for info in infos if info.config is not None]
    for info, settings in known[1:]:
        first, expected = known[0]
        for name, value in settings.items():
            if value != expected[name]:
                raise ConfigError(
                    f"data.{name} is {expected[name]} for {first.path} and {value} for "
                    f"{info.path}: images are read once for all models of an ensemble, so expected "
                    "one value; save the embeddings of each by --save-embeddings and put them "
                    "together, or choose models that were trained alike"
                )


def _require_same_cameras(infos: Sequence[WeightsInfo]) -> None:
    plain = [None if info.cameras is None else info.cameras.to_plain() for info in infos]
    for info, cameras in zip(infos, plain, strict=True):
        if cameras != plain[0]:
            raise ConfigError(
                f"the models of {infos[0].path} and {info.path} are conditioned on cameras, and "
                "were trained with different ones: camera codes of one mean nothing to the other; "
                "choose models that were trained on the same sets"
            )


def _image_settings(config: Mapping[str, object]) -> dict[str, object]:
    data = config_from_plain(dict(config), (), source="weights").data
    return {name: getattr(data, name) for name in _IMAGE_SETTINGS}
