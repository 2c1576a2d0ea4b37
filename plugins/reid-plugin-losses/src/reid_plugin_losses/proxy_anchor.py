"""Proxy-anchor loss: a learned proxy for each identity is the anchor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput
from reid_plugin_losses.checks import require_number
from reid_plugin_losses.distance import unit_length
from reid_plugin_losses.pair_loss import PairLoss
from reid_plugin_losses.pair_statistics import PairStatistics, describe
from reid_plugin_losses.pairs import Pairs
from reid_plugin_losses.reading import require_sizes, single_feature_of
from reid_plugin_losses.reductions import log_sum_exp_where, mean_where


class ProxyAnchorLoss(PairLoss):
    """Pull the batch's features to the proxy of their identity, away from all other proxies.

    With the cosines s of features x and proxies p::

        1/|P⁺| Σ_{p in P⁺} log(1 + Σ_{x of p} exp(−α (s − δ)))
        + 1/|P| Σ_{p in P} log(1 + Σ_{x not of p} exp(α (s + δ)))

    P are all proxies, P⁺ those of the identities of the batch. It works on one branch of the head.

    Args:
        num_classes: Training identities; the trainer knows how many.
        feature_dim: Length of the head's embedding; likewise.
        embedding_size: Length of the branch's features, where it is not the embedding's.
        alpha: α, the scale, above 0.
        margin: δ, at least 0.
        proxy_lr: Learning rate of the proxies, above 0; None for that of the model. The authors
            train them 100 times as fast. They get no weight decay.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Kim et al., "Proxy Anchor Loss for Deep Metric Learning", eq. 4.
    """

    name: ClassVar[str] = "proxy_anchor"

    def __init__(
        self,
        *,
        num_classes: int | None = None,
        feature_dim: int | None = None,
        embedding_size: int | None = None,
        alpha: float = 32.0,
        margin: float = 0.1,
        proxy_lr: float | None = None,
    ) -> None:
        super().__init__()
        require_number("proxy_anchor: alpha", alpha, above=0, example=32)
        require_number("proxy_anchor: margin", margin, at_least=0, example=0.1)
        if proxy_lr is not None:
            require_number("proxy_anchor: proxy_lr", proxy_lr, above=0, example=0.01)
        self.feature_dim, classes = require_sizes(
            "proxy_anchor", feature_dim, num_classes, embedding_size=embedding_size
        )
        self.alpha = alpha
        self.margin = margin
        self.proxy_lr = proxy_lr
        self.proxies = nn.Parameter(torch.empty(classes, self.feature_dim))
        nn.init.kaiming_normal_(self.proxies, mode="fan_out")

    def read(self, output: HeadOutput) -> Mapping[str, Tensor]:
        """Return the features of the one branch, (B, D)."""
        return single_feature_of(output, self.name, self.feature_dim, "proxies")

    def of_branch(self, features: Tensor, batch: Batch) -> tuple[Tensor, PairStatistics]:
        """Return the loss () of features (B, D), and its statistics.

        They are those of each row with its proxy, the positive, and all others; active is a row
        that is nearer to another proxy than to its own; distances are 1 − cosine.
        """
        cosines = unit_length(features) @ unit_length(self.proxies).T
        classes = torch.arange(len(self.proxies), device=batch.pids.device)
        is_own = batch.pids.unsqueeze(1) == classes
        positive = log_sum_exp_where(-self.alpha * (cosines - self.margin), is_own, dim=0)
        negative = log_sum_exp_where(self.alpha * (cosines + self.margin), ~is_own, dim=0)
        pull = mean_where(F.softplus(positive), is_own.any(dim=0))
        statistics = describe(1 - cosines, Pairs(positive=is_own, negative=~is_own))
        return pull + F.softplus(negative).mean(), statistics

    def parameter_groups(self) -> list[dict[str, object]]:
        """Give the proxies no weight decay and, where it is set, a learning rate of their own."""
        group: dict[str, object] = {"params": [self.proxies], "weight_decay": 0.0}
        return [group if self.proxy_lr is None else {**group, "lr": self.proxy_lr}]
