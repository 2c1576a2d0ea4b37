"""What a model wants to know of an image besides its pixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor, nn

from reid_core.contracts import Batch
from reid_core.errors import DataError, PluginError
from reid_core.plugins.origin import origin_of

#: What there is to be known; the codes are those of the training sets.
CONDITIONS = ("camids", "viewids")


def conditions_of(module: nn.Module) -> tuple[str, ...]:
    """Return the conditions that a backbone or model declares.

    Raises:
        PluginError: It declares something else than names of conditions.
    """
    declared = getattr(module, "conditions", ())
    if isinstance(declared, tuple) and set(declared) <= set(CONDITIONS):
        return declared
    raise PluginError(
        f"{type(module).__name__} ({origin_of(module)}) has conditions {declared!r}; expected a "
        f"tuple out of {', '.join(CONDITIONS)}"
    )


def condition_values(batch: Batch, names: Sequence[str]) -> Mapping[str, Tensor]:
    """Return the conditions of a batch, each (B,) int64, by name.

    A test set spells its cameras in its own codes, which protocols compare; there the codes of
    training are in a column.

    Raises:
        DataError: The data sets do not say it.
    """
    values: dict[str, Tensor] = {}
    for name in names:
        column = batch.columns.get(f"training_{name}", batch.columns.get(name))
        if column is None and name == "camids":
            column = batch.camids
        if column is None:
            raise DataError(
                f"the model is conditioned on {name}, and the data set has no column of that name; "
                "name a data set that has one, or take the condition out of model.backbone"
            )
        values[name] = column
    return values
