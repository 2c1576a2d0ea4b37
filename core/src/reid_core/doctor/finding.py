"""One thing that was noticed about a data set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from reid_core.doctor.codes import CODES
from reid_core.wording import counted as counted

#: ``error``: the run would stop, or nothing could be measured; ``warning``: it goes on, and what
#: comes out is probably not what was meant; ``info``: worth knowing.
Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")

#: Examples that a finding names.
MAX_EXAMPLES = 8

#: What is true of so small a part of a set is taken for an accident, not for its nature.
FEW = 0.05


@dataclass(frozen=True)
class Finding:
    """One thing that was noticed.

    Args:
        code: Its short name, one of :data:`reid_core.doctor.codes.CODES`.
        severity: How bad it is.
        dataset: Name of the set it concerns.
        message: What is wrong, in numbers.
        advice: What to do about it.
        count: How many images, identities or cameras it concerns.
        examples: The first few of them: paths, identities, cameras.
    """

    code: str
    severity: Severity
    dataset: str
    message: str
    advice: str
    count: int
    examples: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert self.code in CODES, f"finding {self.code} is not listed in codes.py"


def some(items: Iterable[object]) -> tuple[str, ...]:
    """Return the first few of a list as a finding's examples."""
    return tuple(str(item) for _, item in zip(range(MAX_EXAMPLES), items, strict=False))


def named(examples: Sequence[str], count: int) -> str:
    """Return examples as one line that says how many more there are."""
    more = count - len(examples)
    return ", ".join(examples) + (f" and {more} more" if more > 0 else "")


def are_few(number: int, total: int) -> bool:
    """Say whether so many of a set are taken for an accident."""
    return number <= max(1, FEW * total)
