"""The checks of a hook."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from reid_core.engine.hooks.hook_checks import check_hook, require_plain
from reid_core.errors import PluginError
from reid_core.hookspecs import hookimpl
from reid_core.testing.base import Conformance
from reid_core.testing.failure import ConformanceError
from reid_core.testing.killed_run import run_until_killed
from reid_core.testing.randomness import used_generators
from reid_core.testing.states import first_difference, through_a_file
from reid_core.testing.tiny_run import HOOK_ID, PlannedError, TinyRun, TinyTrainer
from reid_core.testing.two_processes import RankReport, run_in_two_processes


class HookConformance(Conformance):
    """The checks of a hook, most of them in a run of 2 epochs with 4 steps and an evaluation each.

    Attributes:
        settings: Settings of that run that the hook needs, by dotted path, for example
            ``{"train.log_every": 1}``.
        two_process_timeout_seconds: Time that the run in two processes may take.
    """

    kind = "hooks"
    settings: ClassVar[Mapping[str, object]] = {}
    two_process_timeout_seconds: ClassVar[float] = 120.0

    def run(self) -> TinyRun:
        """Return the run that lists the hook."""
        return TinyRun(
            hook=self.ref().qualified, parameters=self.parameters, settings=self.settings
        )

    def trainer(self, folder: Path, *, fails_at: int | None = None) -> TinyTrainer:
        """Return a trainer of that run.

        Args:
            folder: Where data and run folder go.
            fails_at: Step that fails on purpose; -1 fails before the first one.
        """
        self.build()  # says more than the run would when a parameter is missing
        with self.attempt(
            "when the run was set up", "expected it to accept this run; `settings` changes the run"
        ):
            return TinyTrainer(self.run().config(folder), fails_at=fails_at)

    # Checks.

    def test_methods_fit_their_hooks(self) -> None:
        """Every method has the name of a hook, asks for arguments it has, and gives no default."""
        try:
            check_hook(self.build())
        except PluginError as error:
            raise ConformanceError(str(error)) from error

    def test_constructor_does_no_work(self, tmp_path: Path) -> None:
        """Building it twice, as every run does, leaves no files, threads or random draws behind."""
        threads = threading.active_count()
        with contextlib.chdir(tmp_path):
            used = used_generators(lambda: (self.build(), self.build()))
        files = sorted(path.name for path in tmp_path.iterdir())
        advice = "let the constructor check parameters only, and do the work in before_train"
        self.require(
            not files, f"its constructor writes {', '.join(files)} in the working folder; {advice}"
        )
        self.require(
            threading.active_count() <= threads, f"its constructor starts a thread; {advice}"
        )
        self.require(
            not used, f"its constructor uses the global generator of {', '.join(used)}; {advice}"
        )

    def test_a_run_completes(self, tmp_path: Path) -> None:
        """A run that lists the hook ends well."""
        trainer = self.trainer(tmp_path)
        with self.attempt("in a run of 2 epochs", "expected the run to complete"):
            trainer.train()
        self._require_no_error(trainer)

    def test_random_state_of_the_run_is_left_alone(self, tmp_path: Path) -> None:
        """No method but ``run_step`` touches a global generator, unless it says so.

        A hook that is part of the training, and draws on purpose, says ``uses_random = True``.
        """
        trainer = self.trainer(tmp_path)
        if getattr(self.build(), "uses_random", False) is True:
            return
        try:
            trainer.train()
        except Exception as error:
            # The run watches its first steps too, and is ended by what is told below.
            if not trainer.watch.moved:
                raise ConformanceError(
                    f"{self._what()}: a run of 2 epochs failed: {error}"
                ) from error
        for method, generators in trainer.watch.moved.items():
            self.fail(
                f"{method} uses the global generator of {', '.join(generators)}, so listing the "
                "hook changes the run; use a generator of its own: torch.Generator(), "
                "np.random.default_rng(seed), random.Random(seed)",
            )

    def test_state_survives_a_checkpoint(self, tmp_path: Path) -> None:
        """State that is saved, loaded and carried into a resumed run is the same."""
        hook = self.build()
        has = [callable(getattr(hook, name, None)) for name in ("state_dict", "load_state_dict")]
        self.require(
            all(has) or not any(has),
            "it has only one of state_dict and load_state_dict, so its state would not be saved; "
            "define both",
        )
        if not all(has):
            return
        first = self.trainer(_made(tmp_path / "first"))
        with self.attempt("in a run of 2 epochs", "expected its state to be saved"):
            first.train()
        saved = self._state(first)
        resumed = self.trainer(_made(tmp_path / "resumed"))
        with self.attempt("when its state was loaded", "expected load_state_dict(state) to work"):
            state = through_a_file(first.state_dict())
            assert isinstance(state, dict)
            resumed.load_state_dict(state)
        self._require_same(saved, self._state(resumed), "after load_state_dict")
        keeper = _StateKeeper(self)
        resumed.register_hooks([keeper])
        resumed.train()
        self._require_same(
            saved,
            keeper.state,
            "after before_train of the resumed run, which must not begin anew what was loaded",
        )

    def test_goes_on_after_a_kill(self, tmp_path: Path) -> None:
        """A hook with a state goes on with a run whose process was killed at a checkpoint.

        Nothing was told to the hook of the first part: what ``after_train`` would have written is
        not there.
        """
        if not callable(getattr(self.build(), "load_state_dict", None)):
            return
        self.trainer(_made(tmp_path / "here"))  # errors of the set-up are told from here
        error = run_until_killed(self.run(), tmp_path)
        self.require(not error, f"a run that was to be killed at its first checkpoint {error}")
        trainer = self.trainer(tmp_path)
        when = "in a run that goes on after its process was killed"
        advice = "after_train was not called, so nothing that is needed may wait for it"
        with self.attempt(when, advice):
            trainer.resume_or_load("auto")
            trainer.train()
        self._require_no_error(trainer, f" {when}; {advice}")

    def test_a_failing_run_keeps_its_error(self, tmp_path: Path) -> None:
        """Whether a run fails in a step or before the first, its own error comes out."""
        for fails_at in (3, -1):
            trainer = self.trainer(_made(tmp_path / f"fails_at_{fails_at}"), fails_at=fails_at)
            when = "in step 3" if fails_at > 0 else "before the first step"
            try:
                trainer.train()
            except PlannedError:
                pass
            except BaseException as error:
                self.fail(
                    f"a run that failed {when} ended with {type(error).__name__}: {error}; "
                    "expected the error of the step",
                )
            else:
                self.fail(f"it hides the error of a run that failed {when}")
            self._require_no_error(
                trainer,
                f" after a run that failed {when}; after_train and on_exception are called even if "
                "before_train was not",
            )

    def test_two_processes_finish_alike(self, tmp_path: Path) -> None:
        """Under a gloo process group of two, both ranks end, with equal weights."""
        self.trainer(_made(tmp_path / "here"))  # errors of the set-up are told from here
        seconds = self.two_process_timeout_seconds
        reports = run_in_two_processes(self.run(), tmp_path, timeout_seconds=seconds)
        # Both are told of: when one dies, the error of the other is about its lost partner.
        troubles = [
            f"rank {rank} gave no result within {seconds:g} s: it died, or it waits for ever; a "
            "collective operation must be called by every rank or none"
            for rank, report in enumerate(reports)
            if report is None
        ]
        troubles += [
            f"rank {rank} failed:\n{report.error}"
            for rank, report in enumerate(reports)
            if report is not None and report.error
        ]
        self.require(not troubles, "with two processes " + "\n".join(troubles))
        first, second = (report or RankReport() for report in reports)
        difference = first_difference(first.weights, second.weights, "weights")
        self.require(
            not difference,
            f"the ranks end with different models ({difference}); do the same on every rank",
        )

    # Helpers.

    def _state(self, trainer: TinyTrainer) -> object:
        hook = dict(trainer.hooks.items())[HOOK_ID]
        state = hook.state_dict()  # type: ignore[attr-defined]
        try:
            require_plain(state, f"the state of hook {self.name!r}")
        except PluginError as error:
            raise ConformanceError(str(error)) from error
        return through_a_file(state)

    def _require_same(self, before: object, after: object, when: str) -> None:
        difference = first_difference(before, after)
        self.require(not difference, f"its state is not what was saved, {when}: {difference}")

    def _require_no_error(self, trainer: TinyTrainer, when: str = "") -> None:
        # A failing observer is switched off and the run goes on: it has failed all the same.
        for method, error in trainer.watch.raised.items():
            self.require(
                isinstance(error, PlannedError),
                f"{method} raised {type(error).__name__}: {error}{when}",
            )


class _StateKeeper:
    """Takes a copy of the state when all hooks have begun a run."""

    def __init__(self, owner: HookConformance) -> None:
        self._owner = owner
        self.state: object = None

    @hookimpl(trylast=True)
    def before_train(self, trainer: TinyTrainer) -> None:
        self.state = self._owner._state(trainer)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
