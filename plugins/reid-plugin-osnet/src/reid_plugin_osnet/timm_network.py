"""OSNet with the methods that timm expects of its models."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from reid_core.errors import ConfigError
from reid_plugin_osnet.network import EMBEDDING_DIM, OSNet
from reid_plugin_osnet.stages import Variant

GlobalPool = Literal["avg", ""]


class TimmOSNet(OSNet):
    """OSNet as an image classifier of timm's kind; keys are those of the released weights.

    Args:
        width: Multiplier of the channels.
        variant: Plain, or one of those with instance normalisation.
        num_classes: Classes of the classifier on the 512-d embedding; 0 for none.
        in_chans: Channels of the images; the networks exist for 3 only.
        global_pool: ``"avg"`` as published; ``""`` returns the feature map, without classifier.
        drop_rate: Dropout before the classifier, 0 ≤ rate < 1.

    Attributes:
        num_features: Channels of :meth:`forward_features`.
        head_hidden_size: Width of the embedding, which the classifier reads.

    Raises:
        ConfigError: Another number of channels, or a classifier without pooling.
    """

    def __init__(
        self,
        *,
        width: float,
        variant: Variant,
        num_classes: int = 1000,
        in_chans: int = 3,
        global_pool: GlobalPool = "avg",
        drop_rate: float = 0.0,
    ) -> None:
        if in_chans != 3:
            raise ConfigError(
                f"OSNet: in_chans is {in_chans}, expected 3, for which its weights were trained; "
                "repeat a grey image three times"
            )
        super().__init__(width=width, variant=variant)
        self.global_pool: GlobalPool = global_pool
        self.num_features = self.channels[-1]
        self.head_hidden_size = EMBEDDING_DIM
        self.drop = nn.Dropout(drop_rate)
        modules = (("conv1", 2), ("conv2.1", 4), ("conv3.1", 8), ("conv5", 16))
        self.feature_info = [
            {"num_chs": channels, "reduction": reduction, "module": module}
            for channels, (module, reduction) in zip(self.channels, modules, strict=True)
        ]
        self.reset_classifier(num_classes)

    def forward_features(self, images: Tensor) -> Tensor:
        """Return the last feature map (B, ``num_features``, H / 16, W / 16)."""
        return self.feature_map(images)

    def forward_head(self, features: Tensor, pre_logits: bool = False) -> Tensor:
        """Pool, embed and classify a feature map.

        Args:
            features: Map (B, ``num_features``, h, w).
            pre_logits: Stop at the embedding (B, 512).

        Returns:
            (B, ``num_classes``); the embedding (B, 512) where there is no classifier; the map
            itself where ``global_pool`` is ``""``.
        """
        if not self.global_pool:
            return features
        assert self.fc is not None
        embedding: Tensor = self.fc(features.mean(dim=(2, 3)))
        if pre_logits:
            return embedding
        out: Tensor = self.classifier(self.drop(embedding))
        return out

    def forward(self, images: Tensor) -> Tensor:
        """Return what :meth:`forward_head` makes of the images (B, 3, H, W)."""
        return self.forward_head(self.forward_features(images))

    def get_classifier(self) -> nn.Module:
        """Return the classifier; an identity where there is none."""
        return self.classifier

    def reset_classifier(self, num_classes: int, global_pool: GlobalPool | None = None) -> None:
        """Replace the classifier by one with random weights.

        Args:
            num_classes: Its classes; 0 for none.
            global_pool: Another pooling; None keeps it.

        Raises:
            ConfigError: The pooling is unknown, or a classifier is asked for without pooling.
        """
        pool = self.global_pool if global_pool is None else global_pool
        if pool not in ("avg", ""):
            raise ConfigError(f"OSNet: global_pool is {pool!r}, expected 'avg', or '' for the map")
        if not pool and num_classes:
            raise ConfigError(
                f"OSNet: global_pool='' gives a map, and {num_classes} classes need a vector; set "
                "num_classes=0, or global_pool='avg'"
            )
        self.global_pool = pool
        self.num_classes = num_classes
        self.classifier: nn.Module = nn.Identity()
        if num_classes:
            linear = nn.Linear(EMBEDDING_DIM, num_classes)
            nn.init.normal_(linear.weight, std=0.01)
            nn.init.zeros_(linear.bias)
            self.classifier = linear

    def group_matcher(self, coarse: bool = False) -> dict[str, object]:
        """Return timm's patterns of the parameters' depth.

        Args:
            coarse: By stage, and not by block.
        """
        by_block = [(r"^conv([2-4])\.(\d+)", None), (r"^pool([2-4])", (2,))]
        stages = [(r"^(?:conv|pool)([2-4])", None)] if coarse else by_block
        return {"stem": r"^conv1", "blocks": [*stages, (r"^conv5|^fc", (99,))]}

    def set_grad_checkpointing(self, enable: bool = True) -> None:
        """Refuse to trade time for memory, which this network does not.

        Raises:
            ConfigError: ``enable`` is true.
        """
        if enable:
            raise ConfigError("OSNet has no gradient checkpointing; its activations are small")
