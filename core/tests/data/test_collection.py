import gc

import pytest

from reid_core.data.collection import collection_paused


def test_the_collector_rests_and_goes_on_as_before():
    assert gc.isenabled()
    with collection_paused():
        assert not gc.isenabled()
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_goes_on_after_an_error():
    with pytest.raises(ValueError, match="x"), collection_paused():
        raise ValueError("x")
    assert gc.isenabled()


def test_one_that_is_off_stays_off():
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
