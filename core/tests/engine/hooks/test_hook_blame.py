from __future__ import annotations

import pytest

from reid_core.engine import HookManager
from reid_core.engine.hooks.hook_blame import Culprit, find_culprit, note_culprit
from reid_core.errors import ConfigError
from reid_core.hooks.console import Console
from reid_core.hookspecs import hookimpl
from reid_core.plugins.origin import origin_of


class Fails:
    def __init__(self, *, fails=True):
        self.fails = fails

    @hookimpl
    def after_step(self, step):
        if self.fails:
            self._deeper(step)

    def _deeper(self, step):
        raise ValueError(f"at {step}")


class Fires:
    """Calls another hook, as the evaluation does."""

    manager: HookManager

    @hookimpl
    def after_epoch(self):
        self.manager.after_step(trainer=None, step=7, result=None)


class Around:
    @hookimpl(wrapper=True)
    def after_step(self):
        return (yield)


def raised_by(manager, call):
    try:
        call()
    except ValueError as error:
        return find_culprit(error, manager.items())
    raise AssertionError


@pytest.mark.parametrize("failing", ["a", "b"])
def test_of_two_hooks_of_one_class_the_one_that_raised_is_found(failing):
    pair = [(id_, Fails(fails=id_ == failing)) for id_ in ("a", "b")]
    manager = HookManager()
    manager.extend([*pair, ("around", Around())])
    culprit = raised_by(manager, lambda: manager.after_step(trainer=None, step=3, result=None))
    assert (culprit.id, culprit.hook) == (failing, "after_step")


def test_the_innermost_hook_is_the_one_to_blame():
    manager, fires = HookManager(), Fires()
    fires.manager = manager
    manager.extend([("fires", fires), ("fails", Fails())])
    culprit = raised_by(manager, lambda: manager.after_epoch(trainer=None, epoch=0))
    assert culprit.id == "fails"


def test_what_no_hook_raised_has_no_culprit():
    manager = HookManager()
    manager.add(Fails(fails=False), id="a")
    assert raised_by(manager, lambda: int("x")) is None


def test_an_installed_hook_is_named_with_distribution_and_version():
    assert origin_of(Console()).startswith("reid-core ")
    assert origin_of(Fails()).startswith("module "), "its module, where there is no distribution"


@pytest.mark.parametrize(
    ("error", "origin", "has_note"),
    [
        (ConfigError("wrong"), "reid-core 0.1.0", False),
        (ConfigError("wrong"), "reid-plugin-x 0.1.0", True),
        (ValueError("wrong"), "reid-core 0.1.0", True),
    ],
)
def test_only_a_mistake_that_the_core_itself_tells_goes_without_a_note(error, origin, has_note):
    note_culprit(error, Culprit("mine", "after_step", origin))
    notes = getattr(error, "__notes__", [])
    assert notes == ([f"raised by hook 'mine' ({origin}) in after_step"] if has_note else [])


def test_an_id_that_happens_to_be_part_of_the_message_is_no_note():
    error = ValueError("the schema has no such field")
    note_culprit(error, Culprit("ema", "after_step", "reid-plugin-x 1"))
    assert error.__notes__ == ["raised by hook 'ema' (reid-plugin-x 1) in after_step"]


def test_what_a_hook_raises_about_a_config_or_at_the_end_names_it():
    class Breaks:
        @hookimpl
        def validate_config(self, config):
            raise ValueError("first")

        @hookimpl
        def after_train(self):
            raise ValueError("last")

    manager = HookManager()
    manager.add(Breaks(), id="mine")
    with pytest.raises(ValueError, match="first") as caught:
        manager.validate_config(None)
    notes = [caught.value.__notes__, manager.after_train(trainer=None, outcome=None)[0].__notes__]
    origin = f"hook 'mine' (module {__name__})"
    assert notes == [
        [f"raised by {origin} in validate_config"],
        [f"raised by {origin} in after_train"],
    ]


def test_the_manager_does_not_blame_the_default_step():
    from reid_core.engine import TrainerBase

    class Broken(TrainerBase):
        def run_step(self, batch):
            raise ValueError("the step itself")

    trainer = Broken()
    with pytest.raises(ValueError, match="the step itself") as caught:
        trainer.train(0, 1)
    assert trainer.hooks.culprit(caught.value) is None
    assert not hasattr(caught.value, "__notes__")
