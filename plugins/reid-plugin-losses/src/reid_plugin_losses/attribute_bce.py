"""Binary cross entropy of attributes, such as the colour of clothes."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_losses.checks import require_number
from reid_plugin_losses.precision import at_least_float32, full_precision

_COLUMN = "attributes"


class AttributeBCELoss(nn.Module):
    """Mean binary cross entropy of the head's attribute logits.

    Each row has A attributes that are 1 or 0; a negative number says that one is not known, and it
    is left out. With the shares r of rows whose attribute is 1, an entry weighs exp(1 − r) where
    the attribute is 1 and exp(r) where it is 0: the rarer answer counts more.

    Args:
        positive_ratios: r of each attribute over the training data, A numbers from 0 to 1; None
            gives all entries the weight 1.

    Raises:
        ConfigError: A ratio is out of its range.

    Source: Li et al., "Multi-attribute Learning for Pedestrian Attribute Recognition in
        Surveillance Scenarios" (DeepMAR), eq. 3 and 4; FastReID's FastAttr project.
    """

    _ratios: Tensor

    def __init__(self, *, positive_ratios: tuple[float, ...] | None = None) -> None:
        super().__init__()
        for place, ratio in enumerate(positive_ratios or ()):
            name = f"attribute_bce: positive_ratios[{place}]"
            require_number(name, ratio, at_least=0, at_most=1, example=0.3)
        self.positive_ratios = positive_ratios
        ratios = torch.tensor(positive_ratios or ())
        # A buffer follows the model to its device; the configuration knows it, not the state.
        self.register_buffer("_ratios", ratios, persistent=False)
        self._accuracy: Tensor | None = None

    def forward(self, output: HeadOutput, batch: Batch) -> Tensor:
        """Compute the loss.

        Args:
            output: Its ``attributes`` are read, (B, A) logits.
            batch: Its column ``attributes`` is read, (B, A) of 1, 0 and, for not known, −1.

        Returns:
            () float32, or float64 when the logits are; 0 when no attribute is known.

        Raises:
            ConfigError: The head gives no attributes, the data has none, or their numbers differ.
        """
        given, answers = _read(output, batch)
        with full_precision(given):
            logits = at_least_float32(given)
            is_known, is_positive = answers >= 0, answers > 0
            costs = F.binary_cross_entropy_with_logits(
                logits, is_positive.to(logits.dtype), reduction="none"
            )
            num_known = is_known.sum().clamp(min=1)
            is_right = ((logits.detach() > 0) == is_positive) & is_known
            self._accuracy = is_right.sum() / num_known
            return (costs * self._weights(logits, is_positive) * is_known).sum() / num_known

    def metrics(self) -> dict[str, Tensor]:
        """Describe the last call of :meth:`forward`.

        Returns:
            ``accuracy``, the share of known attributes on the right side of 0, a detached ()
            float32; nothing before the first call.
        """
        return {} if self._accuracy is None else {"accuracy": self._accuracy}

    def _weights(self, logits: Tensor, is_positive: Tensor) -> Tensor:
        """Return the weight of each entry, (B, A)."""
        if self.positive_ratios is None:
            return torch.ones_like(logits)
        num_attributes = logits.shape[1]
        if len(self.positive_ratios) != num_attributes:
            raise ConfigError(
                f"attribute_bce: positive_ratios: got {len(self.positive_ratios)} numbers, "
                f"expected {num_attributes}, one for each attribute of the head"
            )
        ratios = self._ratios.to(logits.dtype)
        return torch.where(is_positive, 1 - ratios, ratios).exp()


def _read(output: HeadOutput, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return logits and answers, (B, A) each."""
    if output.attributes is None:
        raise ConfigError(
            "attribute_bce: the head gave no attributes, expected logits (B, A); choose a head "
            "that has them, such as attribute, or take attribute_bce out of model.losses"
        )
    if _COLUMN not in batch.columns:
        known = ", ".join(sorted(batch.columns)) or "none"
        raise ConfigError(
            f"attribute_bce: the training data has no column {_COLUMN}, expected one of "
            f"{output.attributes.shape[1]} numbers a row (its columns: {known}); choose a data set "
            "with attributes, or take attribute_bce out of model.losses"
        )
    answers = batch.columns[_COLUMN]
    if answers.shape != output.attributes.shape:
        raise ConfigError(
            f"attribute_bce: the head gave {tuple(output.attributes.shape)} attributes, the column "
            f"{_COLUMN} is {tuple(answers.shape)}; set the head's num_attributes to the number in "
            "the data"
        )
    return output.attributes, answers
