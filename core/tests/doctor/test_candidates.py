"""Banded search against the comparison of all pairs."""

import numpy as np
import pytest

from reid_core.doctor import candidates
from reid_core.doctor.candidates import near_pairs


def codes_with_copies(number, copies, bits, seed):
    """Random codes, and copies of the first ones with some bits turned over."""
    rng = np.random.default_rng(seed)
    whole = rng.integers(0, 2, (number, 192), dtype=np.uint8)
    for copy in range(copies):
        changed = whole[copy].copy()
        changed[rng.choice(192, bits, replace=False)] ^= 1
        whole[number // 2 + copy] = changed
    return np.packbits(whole, axis=1).view(np.uint64)


def pairs_of(codes, groups, most=1000, most_in_all=10**6):
    owners = np.arange(len(codes))
    found = near_pairs(codes, owners, groups, max_bits=20, most=most, most_in_all=most_in_all)
    assert found.bits.tolist() == [
        int(np.bitwise_count(codes[i] ^ codes[j]).sum()) for i, j in found.pairs
    ]
    return found


def all_pairs(codes, groups, max_bits):
    return [
        [i, j]
        for i in range(len(codes))
        for j in range(i + 1, len(codes))
        if groups[i] != groups[j] and np.bitwise_count(codes[i] ^ codes[j]).sum() <= max_bits
    ]


@pytest.mark.parametrize("bits", [0, 3, 7])
def test_copies_are_found_among_all_pairs(bits):
    codes = codes_with_copies(300, 40, bits, seed=bits)
    groups = np.arange(300)
    found = pairs_of(codes, groups).pairs
    assert len(found) == 40
    assert found.tolist() == all_pairs(codes, groups, 20)


def test_what_differs_in_more_bits_is_left_out():
    codes = codes_with_copies(100, 10, 30, seed=1)
    assert pairs_of(codes, np.arange(100)).pairs.tolist() == []


def test_entries_of_a_group_are_not_compared():
    codes = codes_with_copies(100, 10, 2, seed=2)
    groups = np.arange(100) % 50
    assert pairs_of(codes, groups).pairs.tolist() == []


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_longer_bands_for_more_entries_find_copies_too(width, monkeypatch):
    codes = codes_with_copies(200, 30, 4, seed=3)
    monkeypatch.setattr(candidates, "band_width", lambda number: width)
    found = pairs_of(codes, np.arange(200)).pairs
    assert len(found) >= 28


def test_many_equal_codes_are_compared_with_their_neighbours(monkeypatch):
    monkeypatch.setattr(candidates, "_NEIGHBOURS", 20)
    codes = np.zeros((100, 3), dtype=np.uint64)
    found = pairs_of(codes, np.arange(100)).pairs
    assert len(found) == sum(min(20, 99 - row) for row in range(100))


def test_a_picture_with_two_codes_is_found_by_either():
    codes = codes_with_copies(100, 10, 2, seed=4)
    owners = np.tile(np.arange(50), 2)
    found = near_pairs(codes, owners, np.arange(50), max_bits=20, most=9, most_in_all=99)
    # Copies of the first ten stand at 50 to 59: the same pictures, in no group but their own.
    assert found.pairs.tolist() == []
    turned = np.concatenate([np.arange(50), np.arange(50)[::-1]])
    found = near_pairs(codes, turned, np.arange(50), max_bits=20, most=9, most_in_all=99)
    assert found.pairs.tolist() == [[one, 49 - one] for one in range(10)]
    assert found.bits.tolist() == [2] * 10


@pytest.mark.parametrize("collected", [10, 2**21])
def test_of_too_many_pairs_the_nearest_of_each_are_kept(collected, monkeypatch):
    monkeypatch.setattr(candidates, "_COLLECTED", collected)
    whole = np.zeros((40, 192), dtype=np.uint8)
    for row in range(40):
        whole[row, 96 : 96 + row // 2] = 1
    codes = np.packbits(whole, axis=1).view(np.uint64)
    found = pairs_of(codes, np.arange(40), most=3)
    kept = set()
    for row in range(40):
        bits = [abs(row // 2 - other // 2) for other in range(40)]
        near = sorted((bits[other], min(row, other), other) for other in range(40) if other != row)
        kept |= {(min(row, other), max(row, other)) for _, _, other in near[:3]}
    assert {tuple(pair) for pair in found.pairs.tolist()} == kept
    assert found.has_more.all()


@pytest.mark.parametrize("collected", [10, 2**21])
def test_of_too_many_pairs_in_all_the_nearest_are_kept(collected, monkeypatch):
    monkeypatch.setattr(candidates, "_COLLECTED", collected)
    codes = np.concatenate([codes_with_copies(60, 20, bits, seed=bits) for bits in (3, 6, 9)])
    everything = pairs_of(codes, np.arange(180))
    assert sorted(everything.bits.tolist()) == [3] * 20 + [6] * 20 + [9] * 20
    found = pairs_of(codes, np.arange(180), most_in_all=40)
    assert found.pairs.tolist() == everything.pairs[everything.bits < 9].tolist()
    expected = np.zeros(180, dtype=bool)
    expected[everything.pairs[everything.bits == 9]] = True
    assert found.has_more.tolist() == expected.tolist()


def test_nobody_has_more_where_nothing_is_left_out():
    codes = codes_with_copies(300, 40, 3, seed=5)
    assert not pairs_of(codes, np.arange(300), most=1).has_more.any()


def test_no_entries_give_no_pairs():
    nothing = np.empty(0, dtype=np.intp)
    found = near_pairs(
        np.empty((0, 3), np.uint64), nothing, nothing, max_bits=20, most=5, most_in_all=5
    )
    assert found.pairs.shape == (0, 2)
