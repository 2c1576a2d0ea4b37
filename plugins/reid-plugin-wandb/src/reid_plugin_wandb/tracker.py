"""A run in Weights & Biases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from reid_core.errors import ConfigError
from reid_core.hooks.tracker import ArtifactKind, RunInfo, Status, Tracker
from reid_plugin_wandb.login import require_login

if TYPE_CHECKING:
    import wandb

#: Whether a run is sent at once, kept on the disk for later, or nothing is done at all.
Mode = Literal["online", "offline", "disabled"]

#: As a shell would have it: the service calls a run failed whose code is not 0.
_EXIT_CODES: Mapping[Status, int] = {
    "completed": 0,
    "stopped": 0,
    "failed": 1,
    "interrupted": 130,
}


class Wandb(Tracker):
    """Sends configuration, numbers and files to Weights & Biases, or keeps them in the run folder.

    A resumed run goes on with the same record; steps that it does again are left out there. Console
    output, source code and the command line are not sent.

    Args:
        project: Project of the record; by default wandb's own, ``WANDB_PROJECT`` say, and else
            ``reid``.
        entity: User or team; by default wandb's own.
        run_name: Name of the record; by default recipe and run folder.
        group: Records that belong together, folds or seeds say.
        tags: Tags besides recipe and data sets.
        mode: ``online``, ``offline`` or ``disabled``; by default wandb's own, ``WANDB_MODE`` say.
        artifacts: Files that are sent: ``config``, ``report``, ``weights`` (the best ones).
        wait_seconds: The longest time that the end of a run waits for what is still to be sent.

    Raises:
        ConfigError: A parameter is none of those that are possible.
    """

    def __init__(
        self,
        *,
        project: str | None = None,
        entity: str | None = None,
        run_name: str | None = None,
        group: str | None = None,
        tags: Sequence[str] = (),
        mode: Mode | None = None,
        artifacts: Sequence[ArtifactKind] = ("config", "report"),
        wait_seconds: float = 60.0,
    ) -> None:
        super().__init__(artifacts=artifacts, wait_seconds=wait_seconds)
        if mode is not None and mode not in get_args(Mode):
            raise ConfigError(
                f"hook wandb: mode is {mode!r}; expected {', '.join(get_args(Mode))}, or null for "
                "wandb's own setting"
            )
        self._project = project
        self._entity = entity
        self._run_name = run_name
        self._group = group
        self._tags = tuple(tags)
        self._mode: Mode | None = mode
        self._run: wandb.Run | None = None

    def import_library(self) -> None:
        """Import wandb."""
        import wandb  # noqa: F401 — where it fails, it fails here

    def start(self, run: RunInfo) -> str:
        """Begin a record, or go on with one.

        Returns:
            Its id.

        Raises:
            PluginError: It is to be sent, and nobody is logged in.
        """
        import wandb

        require_login(self._mode)
        self._run = wandb.init(
            project=self._project or wandb.setup().settings.project or "reid",
            entity=self._entity,
            name=self._run_name or run.name,
            group=self._group,
            tags=list(dict.fromkeys((*run.tags, *self._tags))),
            mode=self._mode,
            dir=run.folder,
            id=run.run_id,
            resume="allow" if run.run_id else None,
            config={
                **run.config,
                "reid_components": list(run.components),
                "reid_environment": dict(run.environment),
            },
            # A program that trains may have a record of its own open.
            reinit="create_new",
            settings=self._settings(),
        )
        return str(self._run.id)

    def log(self, step: int, scalars: Mapping[str, float]) -> None:
        """Add a row; wandb leaves out steps before its newest one."""
        if self._run is not None:
            self._run.log(dict(scalars), step=step)

    def log_artifact(self, path: Path, kind: ArtifactKind) -> None:
        """Send a file as an artifact of the record."""
        import wandb

        if self._run is not None:
            artifact = wandb.Artifact(f"{kind}-{self._run.id}", type=kind)
            artifact.add_file(str(path), name=path.name)
            self._run.log_artifact(artifact)

    def end(self, status: Status, summary: Mapping[str, float]) -> None:
        """Finish the record, with the best evaluation in its summary."""
        if self._run is not None:
            self._run.summary.update({**summary, "status": status})
            self._run.finish(exit_code=_EXIT_CODES[status])
            self._run = None

    def _settings(self) -> wandb.Settings:
        import wandb

        return wandb.Settings(
            console="off",
            disable_code=True,
            disable_git=True,
            # The command line among it, which may hold anything.
            x_disable_meta=True,
            # Also of what wandb does when the process ends.
            finish_timeout=max(self._wait_seconds, 1.0),
        )
