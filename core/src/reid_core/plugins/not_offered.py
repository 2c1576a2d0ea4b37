"""Names that people look for and that cannot work here, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping

_LBFGS = (
    "LBFGS computes the loss several times in a step, which this loop does once; use another, "
    "such as adamw"
)
_SPARSE_ADAM = "SparseAdam takes sparse gradients only, and those of a network are dense; use adam"
_ADAHESSIAN = (
    "Adahessian needs second derivatives, which this loop does not compute; use another, such as "
    "adamw"
)

#: The reason by kind and name.
NOT_OFFERED: Mapping[tuple[str, str], str] = {
    ("optimizers", "lbfgs"): _LBFGS,
    ("optimizers", "sparseadam"): _SPARSE_ADAM,
    ("optimizers", "sparse_adam"): _SPARSE_ADAM,
    ("optimizers", "adahessian"): _ADAHESSIAN,
}
