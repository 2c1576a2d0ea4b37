import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reid_core.data import text_buffer
from reid_core.data.manifest import text_column
from reid_core.data.text_buffer import pack_texts, unpack_texts

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))


@given(TEXTS, TEXTS)
def test_texts_come_back_in_order(first, second):
    packed, offsets = pack_texts([text_column(first), text_column(second)])
    assert packed.tobytes() == "".join(first + second).encode()
    assert unpack_texts(packed, offsets) == first + second


def test_long_columns_are_packed_in_parts(monkeypatch):
    column = np.array([f"{n}é" for n in range(10)])
    whole = pack_texts([column])
    monkeypatch.setattr(text_buffer, "_CHUNK", 3)
    parts = pack_texts([column])
    assert all(np.array_equal(a, b) for a, b in zip(whole, parts, strict=True))
    assert unpack_texts(*parts) == column.tolist()
