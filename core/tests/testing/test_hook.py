import pytest

from reid_core.testing import HookConformance

GOOD = """
import os
import threading
from pathlib import Path

import numpy as np
import torch
from reid_core import StepResult
from reid_core.hookspecs import hookimpl

class Example:
    def __init__(self, *, every: int = 1):
        self.every = every
        self.count = 0
        self.total = 0.0
        self.log = None

    @hookimpl
    def before_train(self, trainer):
        self.log = []

    @hookimpl
    def before_step(self, batch):
        self.total += float(len(batch))

    @hookimpl
    def after_step(self, trainer, step, result):
        self.count += 1

    @hookimpl
    def after_train(self, trainer, outcome):
        if self.log is not None:
            self.log.append(outcome.status)

    def state_dict(self):
        return {"count": self.count, "total": self.total, "last": torch.tensor(self.total)}

    def load_state_dict(self, state):
        self.count, self.total = state["count"], state["total"]
"""
BUILT = "self.every = every"
BEGIN = "self.log = []"
COUNT = "self.count += 1"
FINISH = "if self.log is not None:"
STATE = '{"count": self.count, "total": self.total, "last": torch.tensor(self.total)}'
LOAD = 'self.count, self.total = state["count"], state["total"]'
AFTER_STEP = "def after_step(self, trainer, step, result):"
WRAPPER = """@hookimpl(wrapper=True)
    def run_step(self):
        try:
            return (yield)
        except RuntimeError:
            return None

    def state_dict(self):"""

FAULTS = {
    "it asks for an argument that is not there": (
        "test_methods_fit_their_hooks", AFTER_STEP, "def after_step(self, trainer, epoch):",
        "after_step has no argument 'epoch'",
    ),
    "it has a default": (
        "test_methods_fit_their_hooks", AFTER_STEP, "def after_step(self, trainer, step=-1):",
        "after_step: the argument 'step' has a default",
    ),
    "it is misspelt": (
        "test_methods_fit_their_hooks", AFTER_STEP, "def afterstep(self, trainer, step, result):",
        "there is no hook 'afterstep'; did you mean after_step",
    ),
    "its constructor writes a file": (
        "test_constructor_does_no_work", BUILT, f"{BUILT}; Path('log.txt').touch()",
        "its constructor writes log.txt",
    ),
    "its constructor starts a thread": (
        "test_constructor_does_no_work", BUILT,
        f"{BUILT}; threading.Timer(2, print, ('', )).start()", "its constructor starts a thread",
    ),
    "its constructor draws": (
        "test_constructor_does_no_work", BUILT, f"{BUILT}; np.random.rand()",
        "its constructor uses the global generator of numpy",
    ),
    "it raises": (
        "test_a_run_completes", COUNT, "raise KeyError('accuracy')",
        "raised KeyError in a run of 2 epochs: 'accuracy'",
    ),
    "it raises, although the run may go on": (
        "test_a_run_completes", "class Example:",
        "class Broken:\n    observer = True\n"
        "    @hookimpl\n    def on_log(self):\n        missing\n\n"
        "class Example(Broken):\n    observer = True",
        "on_log raised NameError",
    ),
    "it draws after each step": (
        "test_random_state_of_the_run_is_left_alone", COUNT, "torch.rand(())",
        "after_step uses the global generator of torch",
    ),
    "it draws where the run does not look": (
        "test_random_state_of_the_run_is_left_alone", BEGIN, "np.random.rand()",
        "before_train uses the global generator of numpy",
    ),
    "it seeds Python's generator": (
        "test_random_state_of_the_run_is_left_alone", COUNT, "import random; random.seed(0)",
        "after_step uses the global generator of python",
    ),
    "it saves its state and never loads it": (
        "test_state_survives_a_checkpoint", "def load_state_dict", "def load_state",
        "only one of state_dict and load_state_dict",
    ),
    "its state holds NumPy numbers": (
        "test_state_survives_a_checkpoint", STATE, '{"count": np.int64(self.count)}',
        "holds a numpy.int64",
    ),
    "it loads half of its state": (
        "test_state_survives_a_checkpoint", LOAD, 'self.count = state["count"]',
        r"not what was saved, after load_state_dict: state\['total'\] was 96.0, now 0.0",
    ),
    "it begins anew what was loaded": (
        "test_state_survives_a_checkpoint", BEGIN, "self.count = 0",
        r"after before_train of the resumed run, .*: state\['count'\] was 8, now 0",
    ),
    "its state cannot be loaded": (
        "test_state_survives_a_checkpoint", LOAD, 'self.count = state["number"]',
        "raised KeyError when its state was loaded",
    ),
    "it expects that the run began": (
        "test_a_failing_run_keeps_its_error", FINISH, "if True:",
        "after_train raised AttributeError.* before the first step",
    ),
    "it fails when the run fails": (
        "test_a_failing_run_keeps_its_error", FINISH,
        "if outcome.exception: missing\n        if 0:",
        "after_train raised NameError.* in step 3",
    ),
    "it hides the error of a step": (
        "test_a_failing_run_keeps_its_error", "def state_dict(self):", WRAPPER,
        "a run that failed in step 3 ended with AttributeError.*; expected the error of the step",
    ),
    "it goes on after a step that failed": (
        "test_a_failing_run_keeps_its_error", "def state_dict(self):",
        WRAPPER.replace("return None", "return StepResult(torch.zeros(()))"),
        "it hides the error of a run that failed in step 3",
    ),
    "one rank waits for the other": (
        "test_two_processes_finish_alike", COUNT,
        "os.environ['RANK'] == '0' and torch.distributed.all_reduce(torch.ones(1))",
        "with two processes rank [01] (failed|gave no result)",
    ),
    "one rank dies": (
        "test_two_processes_finish_alike", COUNT, "os.environ['RANK'] == '1' and os._exit(1)",
        "with two processes rank 1 gave no result within 60 s",
    ),
    "the ranks train different models": (
        "test_two_processes_finish_alike", COUNT,
        "p = next(trainer.model.parameters()); p.data += float(os.environ['RANK'])",
        r"the ranks end with different models \(weights\['backbone.conv.weight'\]",
    ),
    "it goes on with what only the end of a run writes": (
        "test_goes_on_after_a_kill", "def after_train(self, trainer, outcome):",
        "def before_epoch(self, trainer):\n"
        "        trainer.start_iter and (trainer.folder.path / 'mine').read_text()\n\n"
        "    @hookimpl\n    def after_train(self, trainer, outcome):\n"
        "        (trainer.folder.path / 'mine').touch()",
        "raised FileNotFoundError in a run that goes on after its process was killed.*mine(.|\n)*"
        "after_train was not called",
    ),
    "it fails before it can be killed": (
        "test_goes_on_after_a_kill", COUNT, "raise KeyError('accuracy')",
        "a run that was to be killed at its first checkpoint ended with code 1: (.|\n)*accuracy",
    ),
}  # fmt: skip


def test_a_good_hook_passes_every_check(installed_component, run_all_checks) -> None:
    assert run_all_checks(installed_component(HookConformance, GOOD)) == 11


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(installed_component, run_check, fault: str) -> None:
    check, old, new, message = FAULTS[fault]
    component = installed_component(
        HookConformance, GOOD, old, new, two_process_timeout_seconds=60.0
    )
    with pytest.raises(AssertionError, match=message):
        run_check(component, check)


def test_a_hook_that_draws_on_purpose_says_so(installed_component, run_check) -> None:
    source = GOOD.replace(COUNT, "torch.rand(())")
    component = installed_component(
        HookConformance, source, "class Example:", "class Example:\n    uses_random = True"
    )
    run_check(component, "test_random_state_of_the_run_is_left_alone")


def test_settings_change_the_run(installed_component, run_check) -> None:
    source = GOOD.replace(COUNT, "assert trainer.config.train.log_every == 7")
    component = installed_component(HookConformance, source)
    with pytest.raises(AssertionError):
        run_check(component, "test_a_run_completes")
    component = installed_component(HookConformance, source, settings={"train.log_every": 7})
    run_check(component, "test_random_state_of_the_run_is_left_alone")


def test_a_hook_that_refuses_the_run_is_told_of_settings(installed_component, run_check) -> None:
    refusal = (
        "from reid_core.config import ConfigProblem\n\nclass Example:\n    @hookimpl\n"
        "    def validate_config(self, config):\n"
        "        return [ConfigProblem('train.epochs', 'too short')]\n"
    )
    component = installed_component(HookConformance, GOOD, "class Example:", refusal)
    with pytest.raises(AssertionError, match=r"too short(.|\n)*`settings` changes the run"):
        run_check(component, "test_a_run_completes")


def test_a_hook_of_the_seeds_is_watched_too(installed_component, run_check) -> None:
    source = """
import numpy as np
from reid_core import HookBase

class Example(HookBase):
    def after_epoch(self):
        np.random.rand()
"""
    component = installed_component(HookConformance, source)
    run_check(component, "test_a_run_completes")
    with pytest.raises(AssertionError, match="after_epoch uses the global generator of numpy"):
        run_check(component, "test_random_state_of_the_run_is_left_alone")


def test_every_check_has_a_fault_that_it_finds(own_checks) -> None:
    found = {check for check, *_ in FAULTS.values()}
    assert own_checks(HookConformance) == found
