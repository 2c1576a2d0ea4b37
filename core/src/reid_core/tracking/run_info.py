"""What a tracker is told of a run when it begins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from reid_core.plugins.component_ref import singular
from reid_core.tracking.secrets import without_secrets

if TYPE_CHECKING:
    from reid_core.engine import DefaultTrainer


@dataclass(frozen=True)
class RunInfo:
    """A run, as far as it may be told to others: secrets are left out of it.

    Args:
        name: For people: recipe and run folder, ``osnet_x0_25/20261130-071520``.
        recipe: Name of the recipe.
        folder: The run folder.
        config: The resolved configuration, as plain types.
        components: What the run is made of, ``loss triplet (reid-plugin-losses 0.1.0)``, sorted.
        environment: What ``env.json`` says of versions, hardware and the git commit; neither the
            command line nor the names of changed files.
        tags: Recipe, training sets and test sets, each once.
        first_step: Steps done before; 0 for a new run.
        run_id: What :meth:`Tracker.start` returned in the part of the run that this one continues;
            None for a new run.
    """

    name: str
    recipe: str
    folder: Path
    config: Mapping[str, object]
    components: tuple[str, ...]
    environment: Mapping[str, object]
    tags: tuple[str, ...]
    first_step: int = 0
    run_id: str | None = None

    @classmethod
    def of(cls, trainer: DefaultTrainer, run_id: str | None = None) -> RunInfo:
        """Collect the facts of a trainer whose run folder has been begun.

        Args:
            trainer: The trainer.
            run_id: The id of the tracker's run that is continued.
        """
        config, folder = trainer.config, trainer.folder.path
        sets = [manifest.name for manifest in trainer.train_manifests]
        sets += [evaluator.name for evaluator in trainer.evaluators]
        used = {
            f"{singular(ref.kind)} {ref.name} ({ref.dist} {ref.version})"
            for ref in trainer.components
        }
        return cls(
            name=f"{config.name}/{folder.name}",
            recipe=config.name,
            folder=folder,
            config=without_secrets(config.plain()),
            components=tuple(sorted(used)),
            environment=_environment(folder / "env.json"),
            tags=tuple(dict.fromkeys([config.name, *sets])),
            first_step=trainer.start_iter,
            run_id=run_id,
        )


def _environment(path: Path) -> dict[str, object]:
    """Read what the run folder says of the environment."""
    told = cast("dict[str, object]", json.loads(path.read_text(encoding="utf-8")))
    # A command line may hold anything; what it says of the run is in the configuration.
    kept = {name: value for name, value in told.items() if name != "command"}
    git = kept.get("git")
    if isinstance(git, dict):
        # Names of files of a project are its own affair; how many are changed is told.
        kept["git"] = {name: value for name, value in git.items() if name != "dirty"}
    return without_secrets(kept)
