"""What a loss reads of the head's output, with an error that says what is missing."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from reid_core.contracts import HeadOutput
from reid_core.errors import ConfigError


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
            f"{feature_dim}, the length of the head's embedding, which {keeps} have; choose "
            "another branch with branches, or a head whose metric feature is its embedding"
        )
    return features


def require_sizes(
    loss: str, feature_dim: int | None, num_classes: int | None = 1
) -> tuple[int, int]:
    """Return the sizes of a loss's own vectors, once they are known.

    Args:
        loss: Name of the loss, for the message.
        feature_dim: Length of the head's embedding.
        num_classes: Training identities; left out by a loss that keeps nothing for each.

    Returns:
        ``feature_dim`` and ``num_classes``.

    Raises:
        ConfigError: One of them is None.
    """
    for name, size in (("feature_dim", feature_dim), ("num_classes", num_classes)):
        if size is None:
            raise ConfigError(
                f"{loss}: {name} is not known, expected a number; the trainer takes feature_dim "
                "from the head's embedding_dim and num_classes from the training data"
            )
    assert feature_dim is not None
    assert num_classes is not None
    return feature_dim, num_classes
