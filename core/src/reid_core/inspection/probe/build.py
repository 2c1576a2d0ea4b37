"""Builds a component with its defaults, the way a run does, and checks what comes out."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from reid_core.errors import PluginError, ReidError
from reid_core.inspection.finding import Finding
from reid_core.inspection.probe import stand_ins
from reid_core.inspection.probe.kinds import BUILDERS
from reid_core.inspection.probe.network import NetworkWatch
from reid_core.plugins.component_ref import ComponentRef

#: Kinds that are not built, and why.
NOT_BUILT = {"datasets": "reads or writes files"}


# Nothing that a user of the component could mend.
_DEFECTS = (AttributeError, NameError)


@dataclass(frozen=True)
class Built:
    """What came of building.

    Args:
        is_built: Whether it worked.
        not_built: Why it was not tried or could not be done, where that is nobody's fault.
        findings: What was noticed.
    """

    is_built: bool = False
    not_built: str = ""
    findings: tuple[Finding, ...] = ()


def build(ref: ComponentRef, network: NetworkWatch) -> Built:
    """Build a component whose parameters all have defaults or come from the trainer.

    Args:
        ref: The component.
        network: Knows whether it asked for the network.
    """
    if ref.kind in NOT_BUILT:
        return Built(not_built=NOT_BUILT[ref.kind])
    stand_ins.register()
    asked = len(network.attempts)
    try:
        return Built(is_built=True, findings=tuple(_contract(BUILDERS[ref.kind], ref)))
    except BaseException as error:  # a constructor may raise anything, SystemExit too
        if hosts := network.attempts[asked:]:
            return Built(not_built=f"its defaults need the network ({hosts[0]})")
        return _judged(ref, error)


def _contract(builder: Callable[[str], Iterator[str]], ref: ComponentRef) -> Iterator[Finding]:
    for message in builder(ref.qualified):
        yield Finding("fault", "contract", message)


def _judged(ref: ComponentRef, error: BaseException) -> Built:
    if _missing_package(error):
        message = f"cannot be built here: {error}"
        return Built(findings=(Finding("warning", "build", message),))
    if isinstance(error, PluginError):
        return Built(findings=(Finding("fault", "contract", str(error)),))
    if isinstance(error, ReidError):
        # Its own wish, well said: it may need one of two parameters, say, or a file.
        return Built(not_built=f"refuses its defaults: {error}")
    advice = (
        "mend it there"
        if isinstance(error, _DEFECTS)
        else "raise reid_core.errors.ConfigError where a user can mend it"
    )
    message = (
        f"cannot be built with its defaults: {type(error).__name__}: {error}{_place(ref, error)}; "
        f"{advice}"
    )
    return Built(findings=(Finding("fault", "build", message),))


def _missing_package(error: BaseException | None) -> bool:
    """Say whether an error tells of an optional package that is not installed."""
    cause = error
    while isinstance(cause, ReidError):
        cause = cause.__cause__ or cause.__context__
        if isinstance(cause, ImportError):
            return True
    return False


def _place(ref: ComponentRef, error: BaseException) -> str:
    """Name the innermost line of the plugin's own code; of any other where there is none."""
    trace = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in trace if _is_below(frame.filename, _places_of(ref))]
    here = [Path(__file__).parents[2]]
    frames = own or [frame for frame in trace if not _is_below(frame.filename, here)]
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""


def _places_of(ref: ComponentRef) -> list[Path]:
    """Return the folders of the package that a component lies in, or the file of its module."""
    package = sys.modules.get(ref.value.partition(":")[0].partition(".")[0])
    folders = [Path(folder) for folder in getattr(package, "__path__", ())]
    file = getattr(package, "__file__", None)
    return folders or ([Path(file)] if file else [])


def _is_below(file: str, places: Iterable[Path]) -> bool:
    path = Path(file)
    return any(place == path or place in path.parents for place in places)
