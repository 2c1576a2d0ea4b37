"""What a loss reads of the head's output, with an error that says what is missing."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from reid_core.contracts import HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_losses.checks import require_number


def features_of(output: HeadOutput, loss: str) -> Mapping[str, Tensor]:
    """Return the metric features by branch, each (B, D).

    Args:
        output: What the head made of the batch.
        loss: Name of the loss, for the message.

    Raises:
        ConfigError: There are none.
    """
    if not output.features:
        raise ConfigError(
            f"{loss}: the head gave no features, expected at least one entry; choose a head with "
            f"metric features, such as bnneck, or take {loss} out of model.losses"
        )
    return output.features


def logits_of(output: HeadOutput, loss: str) -> Mapping[str, Tensor]:
    """Return the class scores by branch, each (B, num_classes).

    Args:
        output: What the head made of the batch.
        loss: Name of the loss, for the message.

    Raises:
        ConfigError: There are none.
    """
    if not output.logits:
        raise ConfigError(
            f"{loss}: the head gave no logits, expected at least one entry: the head has no "
            "classifier, or is in evaluation mode; choose a head with a classifier, such as "
            f"bnneck, or take {loss} out of model.losses"
        )
    return output.logits


def single_feature_of(
    output: HeadOutput, loss: str, feature_dim: int, keeps: str
) -> Mapping[str, Tensor]:
    """Return the features of the one branch that a loss with vectors of its own works on.

    Args:
        output: What the head made of the batch.
        loss: Name of the loss, for the message.
        feature_dim: Length D of the loss's own vectors.
        keeps: What those are, for the message.

    Returns:
        One entry, (B, D).

    Raises:
        ConfigError: There are no features, several branches, or features of another length.
    """
    features = features_of(output, loss)
    if len(features) > 1:
        first, *_ = features
        raise ConfigError(
            f"{loss}: got features of {len(features)} branches ({', '.join(features)}), expected "
            f"one, because it keeps {keeps} for one feature; choose with branches: [{first}], and "
            f"name {loss} once for each further branch"
        )
    ((name, values),) = features.items()
    if values.shape[1] != feature_dim:
        raise ConfigError(
            f"{loss}: branch {name} has features of length {values.shape[1]}, expected "
            f"{feature_dim}, which {keeps} have; set embedding_size: {values.shape[1]}, or choose "
            "another branch with branches"
        )
    return features


def require_sizes(
    loss: str,
    feature_dim: int | None,
    num_classes: int | None = 1,
    *,
    embedding_size: int | None = None,
) -> tuple[int, int]:
    """Return the sizes of a loss's own vectors, once they are known.

    Args:
        loss: Name of the loss, for the message.
        feature_dim: Length of the head's embedding.
        num_classes: Training identities; left out by a loss that keeps nothing for each.
        embedding_size: Length of the features, where somebody gave it; it goes before
            ``feature_dim``.

    Returns:
        The length and ``num_classes``.

    Raises:
        ConfigError: One of them is not known, or ``embedding_size`` is below 1.
    """
    if embedding_size is not None:
        require_number(f"{loss}: embedding_size", embedding_size, at_least=1, example=256)
        feature_dim = embedding_size
    if feature_dim is None:
        raise ConfigError(
            f"{loss}: the length of the features is not known: no head has an embedding_dim; set "
            "embedding_size to it"
        )
    if num_classes is None:
        raise ConfigError(
            f"{loss}: num_classes is not known, expected a number; the trainer takes it from the "
            "training data"
        )
    return feature_dim, num_classes
