"""Logged numbers and the configuration as TensorBoard event files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import yaml

from reid_core.errors import ConfigError
from reid_core.hooks.tracker import RunInfo, Status, Tracker

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class TensorBoard(Tracker):
    """Writes scalars under the usual tags, and configuration, components and environment as text.

    The step is the number of optimizer steps done. A resumed run continues its files; steps that
    are done again replace the old ones.

    Args:
        folder: Folder of the event files, inside the run folder.

    Raises:
        ConfigError: ``folder`` is no plain name.
    """

    def __init__(self, *, folder: str = "tb") -> None:
        super().__init__()
        if not folder or set(folder) & set("/\\:") or folder in (".", ".."):
            raise ConfigError(
                f"hook tensorboard: folder is {folder!r}; expected a plain name, such as tb: it "
                "lies in the run folder"
            )
        self._folder = folder
        self._writer: SummaryWriter | None = None

    def import_library(self) -> None:
        """Import torch's writer of event files, which needs the package ``tensorboard``."""
        import torch.utils.tensorboard  # noqa: F401 — where it fails, it fails here

    def start(self, run: RunInfo) -> str:
        """Open the event file.

        Returns:
            The folder's name.
        """
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(
            str(run.folder / self._folder),
            purge_step=run.first_step + 1 if run.first_step else None,
        )
        for tag, facts in (
            ("config", run.config),
            ("components", list(run.components)),
            ("environment", run.environment),
        ):
            text = yaml.safe_dump(facts, sort_keys=False, allow_unicode=True)
            # Four spaces make it verbatim in Markdown.
            indented = "".join(f"    {line}\n" for line in text.splitlines())
            writer.add_text(tag, indented, run.first_step)
        self._writer = writer
        return self._folder

    def log(self, step: int, scalars: Mapping[str, float]) -> None:
        """Write a row."""
        if self._writer is not None:
            for tag, value in scalars.items():
                self._writer.add_scalar(tag, value, step)

    def end(self, status: Status, summary: Mapping[str, float]) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
