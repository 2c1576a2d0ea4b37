from __future__ import annotations

import pytest

from reid_core.engine import HookBase, HookManager
from reid_core.errors import PluginError
from reid_core.hookspecs import hookimpl


class Good:
    @hookimpl
    def after_step(self, step):
        pass


def test_ids_are_unique_and_default_to_the_class_name():
    manager = HookManager()
    manager.extend([(None, Good()), (None, Good()), ("mine", Good())])
    assert [id_ for id_, _ in manager.items()] == ["Good", "Good-2", "mine"]
    with pytest.raises(PluginError, match="'mine' is used twice"):
        manager.add(Good(), id="mine")
    assert len(manager.items()) == 3, "a refused hook leaves the others as they were"


def test_a_misspelt_hook_is_refused_with_the_near_match():
    class Misspelt:
        @hookimpl
        def after_steps(self, step):
            pass

    with pytest.raises(PluginError, match="no hook 'after_steps'; did you mean after_step"):
        HookManager().add(Misspelt())


def test_an_unknown_argument_is_refused_and_the_known_ones_named():
    class Asks:
        @hookimpl
        def after_step(self, stepp):
            pass

    with pytest.raises(
        PluginError,
        match=r"no argument 'stepp'; did you mean step\? \(it has trainer, step, result\)",
    ):
        HookManager().add(Asks())


def test_an_argument_with_a_default_is_refused():
    class Defaults:
        @hookimpl
        def after_step(self, step=-1):
            pass

    with pytest.raises(PluginError, match="after_step: the argument 'step' has a default"):
        HookManager().add(Defaults())


def test_a_class_and_an_object_without_hooks_are_refused():
    with pytest.raises(PluginError, match="register an instance: Good"):
        HookManager().add(Good)
    with pytest.raises(PluginError, match="implements no hook"):
        HookManager().add(object())


def test_a_hook_base_without_any_method_is_fine():
    class Nothing(HookBase):
        pass

    HookManager().add(Nothing())


def test_tryfirst_and_trylast_go_around_the_order_of_the_list():
    calls = []

    def hook(name, **options):
        class Hook:
            @hookimpl(**options)
            def before_epoch(self):
                calls.append(name)

        return Hook()

    manager = HookManager()
    manager.extend(
        [
            ("last", hook("last", trylast=True)),
            ("a", hook("a")),
            ("first", hook("first", tryfirst=True)),
            ("b", hook("b")),
        ]
    )
    manager.before_epoch(trainer=None, epoch=0)
    assert calls == ["first", "a", "b", "last"]


def test_a_removed_hook_is_not_called_any_more():
    calls = []

    class Hook:
        @hookimpl
        def before_epoch(self):
            calls.append(1)

    manager = HookManager()
    hook = Hook()
    manager.add(hook, id="x")
    assert manager.remove("x") is hook
    manager.before_epoch(trainer=None, epoch=0)
    assert calls == []
    with pytest.raises(KeyError, match="no hook with id 'x'"):
        manager.remove("x")


def test_state_is_kept_by_id_and_missing_state_is_said(caplog):
    class Stateful:
        def __init__(self, value):
            self.value = value

        @hookimpl
        def before_epoch(self):
            pass

        def state_dict(self):
            return {"value": self.value}

        def load_state_dict(self, state):
            self.value = state["value"]

    first = HookManager()
    first.extend([("a", Stateful(1)), ("b", Stateful(2)), ("stateless", Good())])
    state = first.state_dict()
    assert state == {"a": {"value": 1}, "b": {"value": 2}}
    second = HookManager()
    second.extend([("b", Stateful(0)), ("c", Stateful(9))])
    second.load_state_dict(state)
    second.warn_of_unclaimed_state()
    assert dict(second.items())["b"].value == 2
    assert dict(second.items())["c"].value == 9
    assert "hook c: the checkpoint holds no state of it" in caplog.text
    assert "hook a: its state is in the checkpoint, but this run does not list it" in caplog.text


def test_a_method_with_the_name_of_a_hook_but_without_the_marker_is_refused():
    class Forgot(Good):
        def after_train(self, outcome):
            pass

    class ForgotToo(HookBase):
        def on_log(self, scalars):
            pass

    for hook, name in ((Forgot(), "after_train"), (ForgotToo(), "on_log")):
        with pytest.raises(PluginError, match=f"its method {name} has the name of a hook but is"):
            HookManager().add(hook)


def test_an_implementation_on_the_instance_is_refused():
    hook = Good()
    hook.after_step = hookimpl(lambda step: None)
    with pytest.raises(PluginError, match="after_step was put on the instance; implementations"):
        HookManager().add(hook)


def test_a_state_that_cannot_be_taken_back_names_the_hook():
    class Stateful(Good):
        def state_dict(self):
            return {"n": 1}

        def load_state_dict(self, state):
            raise KeyError("m")

    manager = HookManager()
    manager.add(Stateful(), id="mine")
    with pytest.raises(KeyError, match="m") as caught:
        manager.load_state_dict({"mine": {"n": 1}})
    assert caught.value.__notes__ == [
        f"raised by hook 'mine' (module {__name__}) in load_state_dict"
    ]


def test_hooks_that_all_run_cannot_be_wrapped():
    class Wraps:
        @hookimpl(wrapper=True)
        def after_train(self):
            yield

    with pytest.raises(PluginError, match="after_train cannot be wrapped"):
        HookManager().add(Wraps())


def test_a_hook_that_comes_after_its_state_still_gets_it(caplog):
    class Stateful(Good):
        value = 0

        def state_dict(self):
            return {"value": self.value}

        def load_state_dict(self, state):
            self.value = state["value"]

    manager = HookManager()
    manager.load_state_dict({"late": {"value": 7}, "never": {}})
    hook = Stateful()
    manager.add(hook, id="late")
    manager.warn_of_unclaimed_state()
    assert hook.value == 7
    assert "hook never" in caplog.text
    assert "hook late" not in caplog.text
