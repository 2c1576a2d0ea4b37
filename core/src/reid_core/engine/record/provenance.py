"""The components that a run was made with, against those that its names mean now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name
from pydantic import TypeAdapter, ValidationError

from reid_core.checkpoint.folder import load_checkpoint
from reid_core.config import Config
from reid_core.config.uses import uses_of
from reid_core.engine.record.run_folder import RunFolder
from reid_core.engine.resuming.resume import run_of
from reid_core.errors import PluginError
from reid_core.plugins.component_ref import ComponentRef, singular
from reid_core.plugins.index import disabled_plugins, installed
from reid_core.plugins.metadata import installed_version
from reid_core.plugins.refusals import LOCAL
from reid_core.plugins.registries import registry_of
from reid_core.plugins.switches import active_switches


@dataclass(frozen=True)
class UsedComponent:
    """A component that a run was made with.

    Args:
        kind: Component kind.
        name: Its name.
        dist: The distribution it came from; ``local`` for one that was registered in the process.
        version: That distribution's version.
    """

    kind: str
    name: str
    dist: str
    version: str

    def __str__(self) -> str:
        source = "local code" if self.dist == LOCAL else f"{self.dist} {self.version}"
        return f"{singular(self.kind)} {self.name!r} of {source}"


_USED = TypeAdapter(tuple[UsedComponent, ...])


def used_components(entries: object) -> tuple[UsedComponent, ...]:
    """Read the list of components in a checkpoint.

    Args:
        entries: What the checkpoint has under ``components``.
    """
    return _USED.validate_python(entries)


def require_components_of_run(config: Config, resume: str | Path | None, folder: RunFolder) -> None:
    """Refuse to go on with a run whose components are gone; reads neither data nor plugins.

    Args:
        config: The configuration to go on with.
        resume: As in :meth:`DefaultTrainer.resume_or_load`.
        folder: The run folder.

    Raises:
        PluginError: A component that the run was made with is missing, or its name means another
            distribution's now.
        CheckpointError: The checkpoint cannot be read.
    """
    if resume is None:
        return
    path = folder.path if resume == "auto" else Path(resume).expanduser()
    is_folder = resume == "auto" or path.is_dir()
    require_components(config, _of_folder(path) if is_folder else _of_checkpoint(path))


def require_components_of_weights(config: Config, weights: Path) -> None:
    """Refuse weights of a run whose components are gone, where they lie in its folder.

    Raises:
        PluginError: As for :func:`require_components_of_run`.
    """
    require_components(config, _listed_in(run_of(str(weights)) / "components.json") or ())


def require_components(config: Config, used: Iterable[UsedComponent]) -> None:
    """Compare what a run was made with, and the config still names, with what there is.

    Raises:
        PluginError: A component is missing, or its name means another distribution's now.
    """
    by_name: dict[tuple[str, str], list[UsedComponent]] = {}
    for one in used:
        by_name.setdefault((one.kind, one.name), []).append(one)
    faults = []
    with disabled_plugins(config.plugins.disable):
        for use in uses_of(config):
            dist, _, plain = use.name.rpartition("/")
            for one in by_name.get((use.kind, plain), ()):
                # Whoever names a distribution has chosen; another one is a change of the config.
                if dist and canonicalize_name(dist) != one.dist:
                    continue
                try:
                    now = registry_of(use.kind).resolve(use.name)
                except PluginError as error:
                    faults.append(_gone(one, error))
                else:
                    faults += [_other(one, now)] if now.dist != one.dist else []
    if faults:
        raise PluginError("\n".join(dict.fromkeys(faults)))


def _gone(one: UsedComponent, error: PluginError) -> str:
    made = f"the run was made with {one}"
    if one.dist == LOCAL:
        return (
            f"{made}, which is not there now; give its file by --plugin-file (a run folder has a "
            f"copy in 'plugins'): {error}"
        )
    found = installed_version(one.dist)
    pinned = f"pip install '{one.dist}=={one.version}'"
    if found is None:
        return f"{made}, which is not installed; {pinned}"
    if not _declared(one):
        return f"{made}, and version {found}, which is installed, does not have it; {pinned}"
    return f"{made}, which cannot be used now: {error}"


def _other(one: UsedComponent, now: ComponentRef) -> str:
    made = f"the run was made with {one}, and the name is {now.origin()}'s now"
    if one.dist == LOCAL:
        return f"{made}; give the file by --plugin-file and name it {LOCAL}/{one.name}"
    steps = [by.undo(one.dist) for by in active_switches() if by.covers(one.dist)]
    if installed_version(one.dist) is None:
        steps.append(f"pip install '{one.dist}=={one.version}'")
    # Both provide the name then, so alone it would be ambiguous.
    steps.append(f"name it {one.dist}/{one.name}")
    return f"{made}; {', and '.join(steps)}"


def _declared(one: UsedComponent) -> bool:
    refs = installed().by_kind(one.kind)
    return any((ref.name, ref.dist) == (one.name, one.dist) for ref in refs)


def _of_folder(path: Path) -> Sequence[UsedComponent]:
    listed = _listed_in(path / "components.json")
    if listed is not None:
        return listed
    found = RunFolder(path).checkpoints.load_latest()
    return used_components(found[1]["components"]) if found else ()


def _of_checkpoint(path: Path) -> Sequence[UsedComponent]:
    return used_components(load_checkpoint(path)["components"])


def _listed_in(path: Path) -> Sequence[UsedComponent] | None:
    """Read the list of components in a run folder; None where there is no readable one."""
    try:
        return _USED.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
