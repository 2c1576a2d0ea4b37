"""All that a run folder and a checkpoint say about what a run was made of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from reid_core.engine.record.environment import environment
from reid_core.engine.record.fingerprint import SetFingerprint, fingerprints
from reid_core.engine.record.git_state import GitState, git_state
from reid_core.engine.record.packages import Package, installed_packages
from reid_core.engine.step.numerics import Numerics
from reid_core.plugins.component_ref import ComponentRef
from reid_core.plugins.local_files import PluginFile, plugin_files

if TYPE_CHECKING:
    from reid_core.engine.default_trainer import DefaultTrainer


@dataclass(frozen=True)
class RunFacts:
    """What a run is made of, beside its configuration.

    Args:
        seed: Its seed.
        components: What it uses.
        data: The marks of its data sets.
        numerics: How exactly it computes.
        num_processes: How many processes train together.
        git: The repository of the working directory; None where there is none.
        plugin_git: The repositories that used distributions in editable mode lie in, by
            distribution.
        packages: What is installed.
        init_from: The weights it began with, as plain types; None for weights of its own.
    """

    seed: int
    components: tuple[ComponentRef, ...]
    data: tuple[SetFingerprint, ...]
    numerics: Numerics
    num_processes: int
    git: GitState | None
    plugin_git: Mapping[str, GitState]
    packages: tuple[Package, ...]
    init_from: Mapping[str, object] | None = None

    @classmethod
    def of(cls, trainer: DefaultTrainer) -> RunFacts:
        """Look up what a trainer is made of."""
        components = tuple(trainer.components)
        return cls(
            seed=trainer.config.seed,
            components=components,
            data=fingerprints(
                trainer.train_manifests, [one.test_set for one in trainer.evaluators]
            ),
            numerics=trainer.numerics,
            num_processes=trainer.processes.count,
            git=git_state(Path.cwd()),
            plugin_git=_plugin_git(components),
            packages=installed_packages(),
            init_from=_initial_weights(trainer),
        )

    def environment(self, files: Mapping[PluginFile, str | None]) -> dict[str, object]:
        """Return what ``env.json`` holds, as plain types.

        Args:
            files: The files with local code, each with the place of its copy in the run folder.
        """
        return {
            **environment(self.components, files, num_processes=self.num_processes),
            "seed": self.seed,
            "numerics": self.numerics.plain(),
            "init_from": None if self.init_from is None else dict(self.init_from),
            "git": None if self.git is None else self.git.plain(),
            "plugin_git": {
                dist: {"commit": state.commit, "num_dirty": state.num_dirty}
                for dist, state in self.plugin_git.items()
            },
        }

    def files(self) -> dict[str, str | None]:
        """Return the further files of a run folder, by name; None for one that shall not be."""
        diff = None if self.git is None else self.git.diff
        return {
            "data.json": _json([one.plain() for one in self.data]),
            "packages.txt": "".join(f"{one}\n" for one in self.packages),
            "git.diff": diff or None,
        }

    @cached_property
    def saved(self) -> dict[str, object]:
        """What a checkpoint holds, as plain types; looked up once, for it is saved often."""
        return {
            "seed": self.seed,
            "data": [one.plain() for one in self.data],
            "environment": self.environment(dict.fromkeys(plugin_files())),
            "packages": [str(one) for one in self.packages],
        }


def _initial_weights(trainer: DefaultTrainer) -> dict[str, object] | None:
    weights = trainer.initial_weights
    if weights is None:
        return None
    return {"path": str(weights.path), "sha256": weights.sha256, "share": weights.loaded_share}


def _plugin_git(components: Sequence[ComponentRef]) -> dict[str, GitState]:
    used = {ref.dist for ref in components} | {"reid-core"}
    sources = {one.dist: one.source for one in installed_packages() if one.dist in used}
    states = {dist: git_state(Path(source)) for dist, source in sources.items() if source}
    return {dist: state for dist, state in states.items() if state is not None}


def _json(content: object) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
