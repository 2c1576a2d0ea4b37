"""The pooling of a ResNet's stem at the border of the image."""

from __future__ import annotations

from timm.models.resnet import ResNet
from torch import nn

from reid_core.errors import ConfigError


def pool_without_padding(network: nn.Module, *, name: str) -> None:
    """Let the stem's pooling start at the first pixel: no padding, and a last window cut short.

    The map keeps its size for even inputs, and each window moves by one pixel. FastReID's ResNets
    were trained so.

    Args:
        network: A timm ResNet whose stem pools with a 3×3 maximum.
        name: The model's name, for the message.

    Raises:
        ConfigError: The network has no such stem.
    """
    pool = getattr(network, "maxpool", None)
    if not (isinstance(network, ResNet) and isinstance(pool, nn.MaxPool2d)):
        raise ConfigError(
            f"stem_pool: {name!r} ({type(network).__name__}) has no stem that pools with a 3×3 "
            "maximum; this needs a timm ResNet such as resnet50. Remove stem_pool"
        )
    network.set_submodule("maxpool", nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True))
