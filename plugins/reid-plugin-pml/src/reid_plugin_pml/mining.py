"""A miner of the library that counts what it finds."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

#: What a miner returns: rows of anchors, positives and negatives of triplets, or of anchors and
#: positives, anchors and negatives of pairs.
Indices = tuple[Tensor, Tensor, Tensor] | tuple[Tensor, Tensor, Tensor, Tensor]


class CountingMiner(nn.Module):
    """Passes on what a miner finds, and keeps the numbers.

    Args:
        miner: A miner of pytorch-metric-learning.
    """

    def __init__(self, miner: nn.Module) -> None:
        super().__init__()
        self.miner = miner
        #: Numbers of the last call: ``mined_triplets``, or ``mined_positive_pairs`` and
        #: ``mined_negative_pairs``.
        self.counts: Mapping[str, int] = {}

    def forward(
        self,
        embeddings: Tensor,
        labels: Tensor,
        ref_emb: Tensor | None = None,
        ref_labels: Tensor | None = None,
    ) -> Indices:
        """Mine among the rows, or among the rows and those of a reference.

        Args:
            embeddings: (B, D) floating point.
            labels: (B,) int64.
            ref_emb: (M, D), same type, or None for the rows themselves.
            ref_labels: (M,) int64, or None.
        """
        found: Indices = self.miner(embeddings, labels, ref_emb, ref_labels)
        if len(found) == 3:
            self.counts = {"mined_triplets": len(found[0])}
        else:
            self.counts = {
                "mined_positive_pairs": len(found[0]),
                "mined_negative_pairs": len(found[2]),
            }
        return found
