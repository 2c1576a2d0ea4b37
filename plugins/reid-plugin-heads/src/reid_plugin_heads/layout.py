"""What a backbone hands over, a map or tokens, read in one way."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from reid_core.errors import PluginError


@dataclass(frozen=True)
class FeatureLayout:
    """How the features of one backbone are laid out.

    Args:
        feature_dim: Channels C, at least 1.
        num_prefix_tokens: None for a map (B, C, h, w); otherwise the features are tokens (B, N, C)
            and the first ``num_prefix_tokens`` of them are class or register tokens.
    """

    feature_dim: int
    num_prefix_tokens: int | None = None

    def positions(self, features: Tensor) -> Tensor:
        """Return what lies on the image plane, prefix tokens left out.

        Args:
            features: Map (B, C, h, w) or tokens (B, N, C), floating point.

        Returns:
            (B, C, L), a view of ``features``: L is h·w, or N − ``num_prefix_tokens``.

        Raises:
            PluginError: The backbone returned another shape than it declared, or no patch token.
        """
        self._check(features)
        if self.num_prefix_tokens is None:
            return features.flatten(2)
        if features.shape[1] <= self.num_prefix_tokens:
            raise PluginError(
                f"the backbone returned {features.shape[1]} tokens an image, of which it declares "
                f"{self.num_prefix_tokens} as prefix tokens: no patch token is left to pool; "
                "correct its num_prefix_tokens, or pool with class_token"
            )
        return features[:, self.num_prefix_tokens :].transpose(1, 2)

    def image_map(self, features: Tensor) -> Tensor:
        """Return a map as it is, once its shape has been checked.

        Args:
            features: Map (B, C, h, w), floating point.

        Raises:
            PluginError: The backbone returned another shape than it declared.
        """
        self._check(features)
        return features

    def class_token(self, features: Tensor) -> Tensor:
        """Return the first token of each image.

        Args:
            features: Tokens (B, N, C), floating point.

        Returns:
            (B, C), a view of ``features``.

        Raises:
            PluginError: The backbone returned another shape than it declared.
        """
        self._check(features)
        return features[:, 0]

    def _check(self, features: Tensor) -> None:
        got = tuple(features.shape)
        if self.num_prefix_tokens is None:
            fits = len(got) == 4 and got[1] == self.feature_dim
            expected = f"a map (B, {self.feature_dim}, h, w), as it declares no num_prefix_tokens"
        else:
            fits = len(got) == 3 and got[2] == self.feature_dim
            expected = (
                f"tokens (B, N, {self.feature_dim}), as it declares "
                f"num_prefix_tokens {self.num_prefix_tokens}"
            )
        if not fits:
            raise PluginError(
                f"the backbone returned features of shape {got}, expected {expected}; correct the "
                "feature_dim or num_prefix_tokens of the backbone"
            )
