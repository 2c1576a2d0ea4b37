"""OSNet at four widths, with the layout and the key names of the released weights."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from reid_plugin_osnet.blocks import ConvNorm, OSBlock
from reid_plugin_osnet.weights import load_released

Embedding = Literal["fc", "map"]

#: Channels at width 1: the stem, then the three stages.
_CHANNELS = (64, 256, 384, 512)
#: Length of the published embedding, at every width.
_EMBEDDING_DIM = 512


class OSNet(nn.Module):
    """OSNet: a seven-pixel stem, three stages of two omni-scale blocks, and an embedding layer.

    Released weights are compared by the output of the ``fc`` layer, which follows global average
    pooling. A pooling head can reproduce that only if the backbone has pooled before, so
    ``embedding="fc"`` returns the finished vector as a map of one pixel: every pooling leaves it
    as it is.

    Args:
        width: Multiplier of the channels, for example 0.25.
        embedding: ``"fc"`` returns the published embedding, (B, 512, 1, 1), non-negative;
            ``"map"`` the last feature map, (B, 512 · width, H / 16, W / 16), and has no ``fc``
            parameters.

    Attributes:
        feature_dim: Channels of the output.
        num_prefix_tokens: None, for the output is a map.

    Source: Zhou et al., "Omni-Scale Feature Learning for Person Re-Identification", ICCV 2019.
    """

    num_prefix_tokens: None = None

    def __init__(self, *, width: float, embedding: Embedding = "fc") -> None:
        super().__init__()
        stem, first, second, third = (int(channels * width) for channels in _CHANNELS)
        self.conv1 = ConvNorm(3, stem, kernel_size=7, stride=2)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.conv2 = _stage(stem, first, reduce=True)
        self.conv3 = _stage(first, second, reduce=True)
        self.conv4 = _stage(second, third, reduce=False)
        self.conv5 = ConvNorm(third, third)
        self.fc = _embedding_layer(third) if embedding == "fc" else None
        self.feature_dim = third if self.fc is None else _EMBEDDING_DIM
        _initialise(self)

    def feature_map(self, images: Tensor) -> Tensor:
        """Return the last feature map.

        Args:
            images: (B, 3, H, W) float32, normalised by ImageNet's mean and deviation.

        Returns:
            (B, 512 · width, H / 16, W / 16) float32.
        """
        x = self.maxpool(self.conv1(images))
        out: Tensor = self.conv5(self.conv4(self.conv3(self.conv2(x))))
        return out

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


def osnet_x1_0(*, embedding: Embedding = "fc", weights: str | None = None) -> OSNet:
    """OSNet at full width.

    Args:
        embedding: ``"fc"`` for the published 512-d embedding, ``"map"`` for the 512-channel map.
        weights: Local weights file; None starts from random values.

    Returns:
        The backbone, in training mode.

    Raises:
        CheckpointError: The weights file is missing, unreadable or of another network.
    """
    return _build(1.0, embedding, weights)


def osnet_x0_75(*, embedding: Embedding = "fc", weights: str | None = None) -> OSNet:
    """OSNet with three quarters of the channels; see :func:`osnet_x1_0`.

    Args:
        embedding: ``"fc"`` for the published 512-d embedding, ``"map"`` for the 384-channel map.
        weights: Local weights file; None starts from random values.

    Returns:
        The backbone, in training mode.

    Raises:
        CheckpointError: The weights file is missing, unreadable or of another network.
    """
    return _build(0.75, embedding, weights)


def osnet_x0_5(*, embedding: Embedding = "fc", weights: str | None = None) -> OSNet:
    """OSNet with half of the channels; see :func:`osnet_x1_0`.

    Args:
        embedding: ``"fc"`` for the published 512-d embedding, ``"map"`` for the 256-channel map.
        weights: Local weights file; None starts from random values.

    Returns:
        The backbone, in training mode.

    Raises:
        CheckpointError: The weights file is missing, unreadable or of another network.
    """
    return _build(0.5, embedding, weights)


def osnet_x0_25(*, embedding: Embedding = "fc", weights: str | None = None) -> OSNet:
    """OSNet with a quarter of the channels, 0.2 M parameters; see :func:`osnet_x1_0`.

    Args:
        embedding: ``"fc"`` for the published 512-d embedding, ``"map"`` for the 128-channel map.
        weights: Local weights file; None starts from random values.

    Returns:
        The backbone, in training mode.

    Raises:
        CheckpointError: The weights file is missing, unreadable or of another network.
    """
    return _build(0.25, embedding, weights)


def _build(width: float, embedding: Embedding, weights: str | None) -> OSNet:
    model = OSNet(width=width, embedding=embedding)
    if weights is not None:
        unused = ("classifier.*",) if embedding == "fc" else ("classifier.*", "fc.*")
        load_released(model, weights, ignore=unused)
    return model


def _stage(in_channels: int, out_channels: int, *, reduce: bool) -> nn.Sequential:
    stage = nn.Sequential(OSBlock(in_channels, out_channels), OSBlock(out_channels, out_channels))
    if reduce:
        transition = nn.Sequential(ConvNorm(out_channels, out_channels), nn.AvgPool2d(2, stride=2))
        stage.append(transition)
    return stage


def _embedding_layer(in_features: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(in_features, _EMBEDDING_DIM), nn.BatchNorm1d(_EMBEDDING_DIM), nn.ReLU()
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
