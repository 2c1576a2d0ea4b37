import numpy as np

from reid_core.data.datasets.synthetic.streams import Stream


def test_the_numbers_of_a_key_never_change():
    # Recorded from NumPy 2.4; the raw bits of PCG64 are promised to stay.
    stream = Stream(7, 1)
    assert [stream.integer(0, 999) for _ in range(5)] == [757, 548, 490, 179, 516]
    assert Stream(7, 2).octets(6).tolist() == [28, 178, 4, 72, 119, 15]


def test_the_same_key_gives_the_same_and_another_key_other_numbers():
    first, again, other = Stream(1, 2, 3), Stream(1, 2, 3), Stream(1, 2, 4)
    drawn = [first.integer(0, 2**40) for _ in range(8)]
    assert drawn == [again.integer(0, 2**40) for _ in range(8)]
    assert drawn != [other.integer(0, 2**40) for _ in range(8)]


def test_integers_reach_both_ends_and_no_further():
    stream = Stream(0)
    assert {stream.integer(-2, 2) for _ in range(300)} == {-2, -1, 0, 1, 2}


def test_chance_keeps_to_its_percentage():
    stream = Stream(0)
    assert 250 < sum(stream.chance(30) for _ in range(1000)) < 350
    assert not any(stream.chance(0) for _ in range(50))
    assert all(stream.chance(100) for _ in range(50))


def test_shuffled_keeps_every_item_and_its_argument():
    items = list(range(8))
    orders = {tuple(Stream(seed).shuffled(items)) for seed in range(20)}
    assert items == list(range(8))
    assert all(sorted(order) == items for order in orders)
    assert len(orders) > 15


def test_octets_have_the_shape_asked_for_and_fill_their_range():
    octets = Stream(0).octets(50, 41)
    assert octets.shape == (50, 41)
    assert octets.dtype == np.int32
    assert (octets.min(), octets.max()) == (0, 255)
