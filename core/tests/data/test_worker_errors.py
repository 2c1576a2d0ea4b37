"""Whatever is raised in a worker shows in the parent, picklable or not; B156."""

import pickle
import traceback

import pytest

from reid_core.data.worker_errors import Failure, WorkerTraceback, add_place
from reid_core.errors import DataError, PluginError, ReidError


class TwoPartError(ValueError):
    """Its constructor cannot be called with what it keeps."""

    def __init__(self, what, where):
        super().__init__(f"{what} in {where}")
        self.where = where


class DefaultError(ValueError):
    """Its constructor can be called with what it keeps, and then says something else."""

    def __init__(self, what, where="a worker"):
        super().__init__(f"{what} in {where}")


class HolderError(ValueError):
    """Holds what cannot be pickled."""

    def __init__(self, what):
        super().__init__(what)
        self.change = lambda image: image


class SilentError(ValueError):
    """Cannot say what it is."""

    def __str__(self):
        raise KeyError("no text")


def raised(error, cause=None):
    """Return an error that has a traceback and a cause."""
    try:
        raise error from cause  # noqa: TRY301
    except Exception as caught:
        return caught


def sent(error, cause=None):
    """Return what arrives in the parent."""
    return pickle.loads(pickle.dumps(Failure.of(raised(error, cause)))).error()


@pytest.mark.parametrize(
    "error",
    [
        DataError("row 1 is bad; repair it"),
        KeyError("pid"),
        OSError(2, "No such file or directory", "a.jpg"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        TwoPartError("paint", "a bucket"),
        DefaultError("paint", "a bucket"),
        HolderError("paint"),
        ExceptionGroup("two", [ValueError("one"), KeyError("other")]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_arrives_as_itself(error):
    arrived = sent(error)
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert arrived.args == error.args or isinstance(error, ExceptionGroup)


def test_what_an_error_keeps_besides_its_message_arrives():
    assert sent(TwoPartError("paint", "a bucket")).where == "a bucket"


def test_an_error_that_cannot_say_its_message_arrives():
    arrived = sent(SilentError("nothing"))
    assert type(arrived) is SilentError
    assert arrived.args == ("nothing",)


def test_a_class_that_cannot_be_imported_is_replaced_by_the_nearest_one_of_ours():
    class LocalPluginError(PluginError):
        pass

    class LocalError(ValueError):
        pass

    plugin, other = sent(LocalPluginError("too new")), sent(LocalError("bad"))
    assert type(plugin) is PluginError
    assert str(plugin) == "LocalPluginError: too new"
    assert plugin.exit_code == 4
    assert type(other) is RuntimeError
    assert str(other) == "LocalError: bad"


def test_a_class_that_exists_in_the_worker_only_is_replaced(monkeypatch):
    failure = Failure.of(raised(TwoPartError("paint", "a bucket")))
    monkeypatch.delitem(globals(), "TwoPartError")
    arrived = failure.error()
    assert type(arrived) is RuntimeError
    assert str(arrived) == "TwoPartError: paint in a bucket"


@pytest.mark.parametrize("kind", [DataError, HolderError])
def test_notes_arrive_once(kind):
    error = kind("bad")
    error.add_note("raised by transform x of reid-plugin-x 1.0 (x:X)")
    assert sent(error).__notes__ == ["raised by transform x of reid-plugin-x 1.0 (x:X)"]


def test_the_traceback_of_the_worker_and_the_cause_are_shown():
    arrived = sent(PluginError("cannot be loaded"), cause=ModuleNotFoundError("no module named x"))
    assert type(arrived) is PluginError
    assert str(arrived) == "cannot be loaded"
    assert isinstance(arrived.__cause__, WorkerTraceback)
    shown = "".join(traceback.format_exception(arrived))
    assert "ModuleNotFoundError: no module named x" in shown
    assert "in raised" in shown, "the function that raised it in the worker"


def test_a_place_is_added_unless_the_message_has_it():
    with_place, without = ReidError("broken (row 3); repair it"), ReidError("broken")
    for error in (with_place, without):
        add_place(error, 3)
    assert not hasattr(with_place, "__notes__")
    assert without.__notes__ == ["raised while reading row 3"]
