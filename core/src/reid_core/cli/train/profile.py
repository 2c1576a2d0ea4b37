"""``reid-train --profile``: where the time of a run's first steps goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reid_core.errors import PluginError

if TYPE_CHECKING:
    from reid_core.engine import DefaultTrainer
    from reid_core.engine.trial.step_times import StepTimes

#: The hook that records operators, and its distribution.
_PROFILER, _DIST = "profiler", "reid-plugin-hooks"


class Profile:
    """Measures the parts of some steps, and records the operators of the next ones.

    Operators are recorded by the hook ``profiler`` of reid-plugin-hooks, where it is installed; one
    that the configuration lists is left as it is.

    Args:
        trainer: Before its first step; the hooks are added to it.
    """

    def __init__(self, trainer: DefaultTrainer) -> None:
        from reid_core.engine.trial.step_times import StepTimes

        start, steps = _plan(len(trainer.data_loader))
        self._folder = trainer.folder
        self._operators, self._missing = "profile", ""
        listed = [h for h in trainer.config.all_hooks if h.name.endswith(_PROFILER)]
        if listed:
            self._operators = str(listed[0].parameters.get("output", "profile"))
        else:
            self._missing = _add_profiler(trainer, start, steps)
        # The step before a recording warms the profiler up; the first one of all is slow.
        self._times: StepTimes = StepTimes(first=1, last=max(1, start - 2))
        trainer.hooks.add(self._times, id="step_times")

    def lines(self) -> list[str]:
        """Say where the time went, and where the table of operators is."""
        folder = self._folder.path / self._operators
        tables = sorted(folder.glob("operators_*.txt"))
        told = [f"operators {path.resolve()}" for path in tables]
        if not tables:
            told = [self._missing or "no operators were recorded: the run was too short"]
        return [*self._times.lines(), *told]


def _plan(per_epoch: int) -> tuple[int, int]:
    """Return the first recorded step and their number; all of them are of one epoch."""
    start = max(1, min(10, per_epoch - 5 if per_epoch > 5 else per_epoch // 2))
    return start, min(5, max(1, per_epoch - start))


def _add_profiler(trainer: DefaultTrainer, start: int, steps: int) -> str:
    """Add the hook that records operators; return why not where it cannot be had."""
    from reid_core.plugins.index import disabled_plugins
    from reid_core.plugins.metadata import installed_version
    from reid_core.plugins.registries import HOOKS

    if installed_version(_DIST) is None:
        return f"operators are recorded by a hook of {_DIST}: pip install {_DIST}"
    try:
        with disabled_plugins(trainer.config.plugins.disable):
            hook = HOOKS.build({"name": f"{_DIST}/{_PROFILER}", "start": start, "steps": steps})
    except PluginError as error:
        return f"operators are not recorded: {error}"
    trainer.hooks.add(hook, id=_PROFILER)
    return ""
