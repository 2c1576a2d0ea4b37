"""Where the time of some steps goes."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from torch.profiler import ProfilerActivity, profile, schedule

from reid_core.errors import ConfigError
from reid_core.hookspecs import hookimpl
from reid_plugin_hooks.checks import require_plain_name

if TYPE_CHECKING:
    from reid_core import DefaultTrainer

log = logging.getLogger("reid_core")

#: Rows of the table of operators.
_ROWS = 40


class Profiler:
    """Records the operators of some steps, on the host and on a GPU.

    It writes ``trace_<step>.json``, for ``chrome://tracing`` or Perfetto, and
    ``operators_<step>.txt``, the operators that took most time, into the run folder; ``<step>`` is
    the first recorded one. A recording ends with its epoch at the latest, so that no evaluation is
    in it. Recorded steps are slower than others.

    Args:
        start: Steps of this process before the recording, at least 1; the last of them warms the
            profiler up.
        steps: Steps that are recorded, at least 1.
        output: Folder of the files, inside the run folder.

    Raises:
        ConfigError: A number is below 1.
    """

    observer = True

    def __init__(self, *, start: int = 10, steps: int = 5, output: str = "profile") -> None:
        if start < 1 or steps < 1:
            raise ConfigError(
                f"hook profiler: start is {start}, steps is {steps}; expected at least 1 of each"
            )
        self._start = start
        self._steps = steps
        self._output = require_plain_name("profiler", "output", output)
        self._profile: profile | None = None
        self._is_written = False

    @hookimpl(trylast=True)
    def before_step(self, trainer: DefaultTrainer, step: int) -> None:
        """Switch the profiler on when it is time; tell it that another step begins."""
        if self._profile is not None:
            self._profile.step()
        elif step - trainer.start_iter == self._start - 1:
            self._profile = self._new_profile(trainer, step + 1)
            self._profile.start()

    @hookimpl(tryfirst=True)
    def after_step(self, trainer: DefaultTrainer, step: int) -> None:
        """End the recording after its last step."""
        if step - trainer.start_iter == self._start + self._steps - 1:
            self._stop()

    @hookimpl(tryfirst=True)
    def after_epoch(self) -> None:
        """End a recording that the epoch was too short for."""
        self._stop()

    @hookimpl
    def after_train(self) -> None:
        """End a recording that the run was too short for."""
        self._stop()
        if not self._is_written:
            log.warning("hook profiler: the run was over before step %d of it", self._start)

    def _new_profile(self, trainer: DefaultTrainer, first: int) -> profile:
        is_cuda = trainer.device.type == "cuda"
        folder = trainer.folder.path / self._output
        return profile(
            activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if is_cuda else [])],
            schedule=schedule(wait=0, warmup=1, active=self._steps, repeat=1),
            on_trace_ready=lambda done: self._write(done, folder, first, is_cuda=is_cuda),
            acc_events=True,
        )

    def _stop(self) -> None:
        if self._profile is not None:
            running, self._profile = self._profile, None
            running.stop()

    def _write(self, done: profile, folder: Path, step: int, *, is_cuda: bool) -> None:
        self._is_written = True
        folder.mkdir(parents=True, exist_ok=True)
        done.export_chrome_trace(str(folder / f"trace_{step:08d}.json"))
        order = "self_device_time_total" if is_cuda else "self_cpu_time_total"
        table = done.key_averages().table(sort_by=order, row_limit=_ROWS)
        (folder / f"operators_{step:08d}.txt").write_text(table + "\n", encoding="utf-8")
        log.info("hook profiler: steps from %d on are in %s", step, folder)
