"""Numbers for the log, checked where they come in."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real

from reid_core.errors import PluginError


def checked_scalars(
    step: int, scalars: Mapping[str, object], *, is_logging: bool
) -> dict[str, float]:
    """Return the numbers as floats.

    Args:
        step: Number of steps done.
        scalars: What shall be logged.
        is_logging: Whether a row is being handed to the hooks at this moment.

    Raises:
        PluginError: A value is no number, ``step`` is below 0, or a row is being logged.
    """
    if is_logging:
        raise PluginError(
            f"log_scalars was called in on_log with {', '.join(scalars)}, which would call on_log "
            "again without end; log from another hook, such as after_step or after_epoch"
        )
    if step < 0:
        raise PluginError(f"log_scalars: step is {step}; expected the number of steps done, from 0")
    for name, value in scalars.items():
        if not isinstance(value, Real):
            raise PluginError(
                f"log_scalars: {name} is a {type(value).__name__}; expected a number on the host, "
                "such as value.item() of a tensor"
            )
    return {name: float(value) for name, value in scalars.items() if isinstance(value, Real)}
