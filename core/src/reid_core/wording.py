"""Words that messages have in common."""

from __future__ import annotations


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun: ``1 image``, ``2 identities``.

    Args:
        number: How many.
        singular: The noun for one.
        plural: The noun for more; by default with an s.
    """
    return f"{number} {singular if number == 1 else plural or f'{singular}s'}"
