"""What a check that fails raises."""

from __future__ import annotations


class ConformanceError(AssertionError):
    """A component does not keep its contract: what was expected, what was got, how to mend it."""
