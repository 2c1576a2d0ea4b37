"""OSNet and its two relatives with instance normalisation, as one network of named stages."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal

from torch import Tensor, nn

from reid_core.errors import ConfigError
from reid_plugin_osnet.blocks import OSBlock
from reid_plugin_osnet.layers import ConvNorm
from reid_plugin_osnet.stages import Variant, build_stages

Embedding = Literal["fc", "map"]

#: Channels at width 1: the stem, then the three stages.
_CHANNELS = (64, 256, 384, 512)
#: Length of the published embedding, at every width.
EMBEDDING_DIM = 512
#: The stage that branches of a composed model cut after its first block.
_SPLIT_STAGE = "conv3"


class OSNet(nn.Module):
    """A seven-pixel stem, three stages of two omni-scale blocks, and an embedding layer.

    Released weights are compared by the output of the ``fc`` layer, which follows global average
    pooling. A pooling head can reproduce that only if the backbone has pooled before, so
    ``embedding="fc"`` returns the finished vector as a map of one pixel: every pooling leaves it
    as it is.

    Args:
        width: Multiplier of the channels, for example 0.25.
        embedding: ``"fc"`` returns the published embedding, (B, 512, 1, 1), non-negative;
            ``"map"`` the last feature map, (B, 512 · width, H / 16, W / 16), and has no ``fc``
            parameters.
        variant: ``"plain"`` is OSNet, ``"ibn"`` OSNet-IBN, ``"ain"`` OSNet-AIN. The other two
            normalise the stem and some blocks image by image.

    Attributes:
        channels: Of the stem and of the three stages.
        feature_dim: Channels of the output.
        num_prefix_tokens: None, for the output is a map.

    Source: Zhou et al., "Omni-Scale Feature Learning for Person Re-Identification", ICCV 2019;
        for ``"ain"`` "Learning Generalisable Omni-Scale Representations for Person
        Re-Identification", TPAMI 2021.
    """

    num_prefix_tokens: None = None

    def __init__(
        self, *, width: float, embedding: Embedding = "fc", variant: Variant = "plain"
    ) -> None:
        super().__init__()
        stem, first, second, third = (int(channels * width) for channels in _CHANNELS)
        self.channels = (stem, first, second, third)
        norm: Literal["batch", "instance"] = "batch" if variant == "plain" else "instance"
        self.conv1 = ConvNorm(3, stem, kernel_size=7, stride=2, norm=norm)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        stages = build_stages(variant, self.channels)
        for name, stage in stages.items():
            self.add_module(name, stage)
        self.conv5 = ConvNorm(third, third)
        self.fc = _embedding_layer(third) if embedding == "fc" else None
        self.feature_dim = third if self.fc is None else EMBEDDING_DIM
        self._stages = tuple(stages)
        self._steps = ("conv1", "maxpool", *stages, "conv5")
        _initialise(self)

    def feature_map(self, images: Tensor) -> Tensor:
        """Return the last feature map.

        Args:
            images: (B, 3, H, W) float32, normalised by ImageNet's mean and deviation.

        Returns:
            (B, 512 · width, H / 16, W / 16) float32.
        """
        features = images
        for name in self._steps:
            features = getattr(self, name)(features)
        return features

    def forward(self, images: Tensor) -> Tensor:
        """Return the features that ``embedding`` asked for.

        Args:
            images: (B, 3, H, W) float32, normalised by ImageNet's mean and deviation.

        Returns:
            (B, ``feature_dim``, h, w) float32; h = w = 1 with ``embedding="fc"``.
        """
        features = self.feature_map(images)
        if self.fc is None:
            return features
        embedding: Tensor = self.fc(features.mean(dim=(2, 3)))
        return embedding[:, :, None, None]

    def split(
        self, *, last_strides: Sequence[Literal[1, 2] | None]
    ) -> tuple[nn.Module, list[nn.Module]]:
        """Take the network apart after the first block of ``conv3``, as LightMBN does.

        All parts are copies, and the network stays as it is.

        Args:
            last_strides: One None for each branch: no stage of OSNet has a stride to be set.

        Returns:
            The trunk, from images to a map (B, 384 · width, H / 8, W / 8), and for each branch a
            copy of the rest, from there to (B, 512 · width, H / 16, W / 16).

        Raises:
            ConfigError: A stride is asked for, or the network ends in the published embedding.
        """
        if self.fc is not None:
            raise ConfigError(
                "OSNet with embedding: fc ends in a vector, and branches need its map; set "
                "model.backbone.embedding: map"
            )
        if any(stride is not None for stride in last_strides):
            raise ConfigError(
                "OSNet halves its resolution by pooling between its stages, and its last stage has "
                f"no stride to be set; the model asks for {list(last_strides)}, expected null for "
                "each branch. Set the model's strides to null"
            )
        at = self._steps.index(_SPLIT_STAGE)
        stage = self.get_submodule(_SPLIT_STAGE)
        assert isinstance(stage, nn.Sequential)
        before = [(name, self.get_submodule(name)) for name in self._steps[:at]]
        after = [(name, self.get_submodule(name)) for name in self._steps[at + 1 :]]
        trunk = _copies([*before, (_SPLIT_STAGE, stage[:1])])
        branches: list[nn.Module] = [
            _copies([(_SPLIT_STAGE, stage[1:]), *after]) for _ in last_strides
        ]
        return trunk, branches

    def make_block(self, channels: int) -> nn.Module:
        """Return a fresh omni-scale block, as LightMBN puts one behind its global branch.

        Args:
            channels: Of its input and output, a multiple of 4 from 64 on.
        """
        block = OSBlock(channels, channels)
        _initialise(block)
        return block

    def layer_groups(self) -> list[list[str]]:
        """Return the names of all parameters by depth: stem, each block and transition, the end.

        Returns:
            One list of names for each depth, from the images on.
        """
        groups: dict[str, list[str]] = {}
        for name, _ in self.named_parameters():
            first, second, *_ = name.split(".")
            unit = f"{first}.{second}" if first in self._stages else first
            groups.setdefault(unit, []).append(name)
        return list(groups.values())


def _copies(parts: Sequence[tuple[str, nn.Module]]) -> nn.Sequential:
    return nn.Sequential(OrderedDict((name, copy.deepcopy(part)) for name, part in parts))


def _embedding_layer(in_features: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(in_features, EMBEDDING_DIM), nn.BatchNorm1d(EMBEDDING_DIM), nn.ReLU()
    )


def _initialise(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=0.01)
            nn.init.zeros_(module.bias)
