"""The classifiers by the names that configs use."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from reid_core.errors import ConfigError
from reid_plugin_heads.checks import require_choice
from reid_plugin_heads.classifiers.arcface import ArcFaceClassifier, PastPi
from reid_plugin_heads.classifiers.base import Classifier
from reid_plugin_heads.classifiers.circle_softmax import CircleSoftmaxClassifier
from reid_plugin_heads.classifiers.cosface import CosFaceClassifier
from reid_plugin_heads.classifiers.cosine import CosineClassifier
from reid_plugin_heads.classifiers.linear import LinearClassifier
from reid_plugin_heads.classifiers.subcenter_arcface import SubCenterArcFaceClassifier

ClassifierName = Literal[
    "linear", "cosine", "cosface", "arcface", "circle_softmax", "subcenter_arcface"
]

_CLASSIFIERS: Mapping[str, Callable[..., Classifier]] = MappingProxyType(
    {
        "linear": LinearClassifier,
        "cosine": CosineClassifier,
        "cosface": CosFaceClassifier,
        "arcface": ArcFaceClassifier,
        "circle_softmax": CircleSoftmaxClassifier,
        "subcenter_arcface": SubCenterArcFaceClassifier,
    }
)


def build_classifier(
    name: ClassifierName,
    *,
    embedding_dim: int,
    num_classes: int,
    scale: float | None = None,
    margin: float | None = None,
    centers: int | None = None,
    past_pi: PastPi | None = None,
) -> Classifier:
    """Build a classifier.

    Args:
        name: Which one.
        embedding_dim: Width D, at least 1.
        num_classes: Identities of the training set, at least 1.
        scale: Factor of the scores, above 0; None takes the classifier's own default.
        margin: Margin of ``cosface``, ``arcface``, ``circle_softmax`` and ``subcenter_arcface``;
            None takes the classifier's own default.
        centers: Weight vectors a class of ``subcenter_arcface``; None takes 3.
        past_pi: Rule of ``arcface`` and ``subcenter_arcface`` past π; None takes ``linear``.

    Returns:
        A module from an embedding (B, D) and labels (B,) or None to ``logits`` and ``scores``,
        each (B, num_classes) float32.

    Raises:
        ConfigError: No classifier has that name, it does not have a parameter that is given, or the
            parameter is out of its range.
    """
    require_choice("classifier", name, list(_CLASSIFIERS))
    given = {"scale": scale, "margin": margin, "centers": centers, "past_pi": past_pi}
    chosen = {key: value for key, value in given.items() if value is not None}
    for key, value in chosen.items():
        if key not in inspect.signature(_CLASSIFIERS[name]).parameters:
            raise ConfigError(
                f"{key}: got {value!r}, but classifier {name} has no {key}; remove it, or choose a "
                f"classifier that has one: {', '.join(_classifiers_with(key))}"
            )
    return _CLASSIFIERS[name](embedding_dim=embedding_dim, num_classes=num_classes, **chosen)


def _classifiers_with(parameter: str) -> list[str]:
    return [
        name
        for name, classifier in _CLASSIFIERS.items()
        if parameter in inspect.signature(classifier).parameters
    ]
