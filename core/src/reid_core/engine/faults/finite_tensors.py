"""Whether the parameters and buffers of a model are finite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torch import Tensor, nn


class FiniteTensors:
    """Knows which tensors of a model have to be finite.

    Those are all but the buffers that are not finite from the beginning, such as a mask of minus
    infinities.

    Args:
        model: The model, before it is trained.
    """

    def __init__(self, model: nn.Module) -> None:
        self._exempt = frozenset(_not_finite(model.named_buffers()))

    def are_buffers_finite(self, model: nn.Module) -> Tensor | None:
        """Return () bool on the device; None where the model has no buffer to look at."""
        return _all_finite([value for _, value in self._kept(model.named_buffers())])

    def bad_buffers(self, model: nn.Module) -> list[str]:
        """Return the names of the buffers that are not finite, in the model's order."""
        return _not_finite(self._kept(model.named_buffers()))

    def bad_tensors(self, *states: Mapping[str, Tensor] | None) -> list[str]:
        """Return the names of what is not finite in states of the model, each name once.

        Args:
            states: Whole tensors by name: the state of the model, that of its average; None is
                passed over.
        """
        names: dict[str, None] = {}
        for state in states:
            kept = list(self._kept((state or {}).items()))
            finite = _all_finite([value for _, value in kept])
            # Each tensor by itself makes a GPU wait each time; that is for what has gone wrong.
            if finite is not None and not bool(finite):
                names.update(dict.fromkeys(_not_finite(kept)))
        return list(names)

    def _kept(self, tensors: Iterable[tuple[str, Tensor]]) -> Iterable[tuple[str, Tensor]]:
        return ((name, value) for name, value in tensors if name not in self._exempt)


def told(names: list[str]) -> str:
    """Return the first name, and of how many it is the first."""
    return names[0] if len(names) == 1 else f"{names[0]} (the first of {len(names)})"


def _not_finite(tensors: Iterable[tuple[str, Tensor]]) -> list[str]:
    return [
        name
        for name, value in tensors
        if value.is_floating_point() and not bool(value.isfinite().all())
    ]


def _all_finite(tensors: list[Tensor]) -> Tensor | None:
    numbers = [value.detach() for value in tensors if value.is_floating_point() and value.numel()]
    # The largest number and not a sum of squares, which may overflow where no number does.
    return nn.utils.get_total_norm(numbers, float("inf")).isfinite() if numbers else None
