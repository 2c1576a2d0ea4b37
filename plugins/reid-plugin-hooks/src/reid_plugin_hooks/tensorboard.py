"""Logged numbers as TensorBoard event files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reid_core.errors import PluginError
from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

    from reid_core import DefaultTrainer


class TensorBoard:
    """Writes scalars under the usual tags; the step is the number of optimizer steps done.

    ``train/loss``, ``train/loss_triplet``, ``train/accuracy``, ``lr``, ``time/step``, ``epoch``,
    and ``val/<data set>/mAP`` for evaluations. A resumed run continues its files; steps that are
    done again replace the old ones.

    Args:
        folder: Folder of the event files, inside the run folder.

    Raises:
        PluginError: The package ``tensorboard`` is not installed.
    """

    observer = True

    def __init__(self, *, folder: str = "tb") -> None:
        try:
            import torch.utils.tensorboard  # noqa: F401 — fails here, not after the first epoch
        except ImportError as error:
            raise PluginError(
                "hook tensorboard needs the package tensorboard: "
                "pip install 'reid-plugin-hooks[tensorboard]'"
            ) from error
        self._folder = folder
        self._writer: SummaryWriter | None = None

    @hookimpl
    def before_train(self, trainer: DefaultTrainer) -> None:
        """Open the event file."""
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(
            str(trainer.folder.path / self._folder),
            purge_step=trainer.start_iter + 1 if trainer.start_iter else None,
        )

    @hookimpl
    def on_log(self, trainer: DefaultTrainer, step: int, scalars: Mapping[str, float]) -> None:
        """Write the numbers of a row."""
        assert self._writer is not None
        test_sets = {evaluator.name for evaluator in trainer.evaluators}
        for name, value in scalars.items():
            self._writer.add_scalar(_tag(name, test_sets), value, step)
        self._writer.add_scalar("epoch", step / len(trainer.data_loader), step)

    @hookimpl
    def after_train(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _tag(name: str, test_sets: set[str]) -> str:
    if name == "lr" or name.startswith("time/"):
        return name
    if name.partition("/")[0] in test_sets:
        return f"val/{name}"
    return f"train/{name.replace('/', '_')}"
