from __future__ import annotations

import pytest

from reid_core.engine import EventStorage, get_event_storage


def test_history_answers_latest_median_and_averages():
    storage = EventStorage(10)
    for step, value in enumerate([1.0, 2.0, 9.0, 4.0]):
        storage.iter = 10 + step
        storage.put_scalar("loss", value)
    history = storage.history("loss")
    assert history.latest() == 4.0
    assert history.median(3) == 4.0
    assert history.avg(2) == 6.5
    assert history.global_avg() == 4.0
    assert history.values()[0] == (10, 1.0)
    assert storage.latest() == {"loss": (4.0, 13)}


def test_smoothing_follows_the_hint_of_the_first_value():
    storage = EventStorage()
    for value in (1.0, 100.0, 2.0):
        storage.put_scalar("noisy", value)
        storage.put_scalar("exact", value, smoothing_hint=False)
    smoothed = storage.latest_with_smoothing_hint(20)
    assert smoothed["noisy"][0] == 2.0
    assert smoothed["exact"][0] == 2.0
    storage.put_scalars({"noisy": 50.0, "exact": 50.0})
    smoothed = storage.latest_with_smoothing_hint(20)
    assert smoothed["noisy"][0] == 26.0
    assert smoothed["exact"][0] == 50.0


def test_name_scopes_nest_and_close_after_an_exception():
    storage = EventStorage()
    with storage.name_scope("val"), storage.name_scope("a/"):
        storage.put_scalar("x", 1)
    with pytest.raises(ZeroDivisionError), storage.name_scope("broken"):
        raise ZeroDivisionError
    storage.put_scalar("x", 2)
    assert set(storage.histories()) == {"val/a/x", "x"}


def test_an_unknown_scalar_is_named_with_the_known_ones():
    storage = EventStorage()
    storage.put_scalar("loss", 1)
    with pytest.raises(KeyError, match="no scalar 'los'; there are \\['loss'\\]"):
        storage.history("los")


def test_storages_nest():
    with EventStorage() as outer:
        with EventStorage() as inner:
            assert get_event_storage() is inner
        assert get_event_storage() is outer
