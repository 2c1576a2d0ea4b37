import numpy as np
import pytest

from reid_core.doctor.thumbnails import THUMBNAIL, Thumbnails
from reid_core.errors import DataError


def test_what_was_written_is_read_when_the_file_is_closed():
    rng = np.random.default_rng(0)
    values = np.zeros(3, THUMBNAIL)
    values["fine"] = rng.integers(0, 256, values["fine"].shape)
    values["coarse"] = rng.integers(0, 256, values["coarse"].shape)
    with Thumbnails(6) as thumbnails:
        thumbnails.write(np.array([4, 0, 2]), values)
    rows = np.array([0, 2, 4, 5])
    np.testing.assert_array_equal(thumbnails.fine(rows)[:3], values["fine"][[1, 2, 0]])
    np.testing.assert_array_equal(thumbnails.coarse(rows)[:3], values["coarse"][[1, 2, 0]])
    assert not thumbnails.fine(rows)[3].any()
    assert thumbnails.fine(rows).dtype == np.float32


def test_no_rows_need_no_file():
    with Thumbnails(0) as thumbnails:
        pass
    assert thumbnails.fine(np.empty(0, dtype=np.intp)).shape == (0, 32, 32, 3)


class Full:
    """A file on a disk that is full."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def seek(self, _):
        pass

    def truncate(self, _):
        pass

    def write(self, _):
        raise OSError(28, "No space left on device")


def test_a_full_disk_is_said_with_what_to_do(monkeypatch):
    thumbnails = Thumbnails(10_000)
    monkeypatch.setattr(thumbnails, "_file", Full())
    with pytest.raises(DataError) as caught:
        thumbnails.write(np.array([0]), np.zeros(1, THUMBNAIL))
    message = str(caught.value)
    assert "the small versions of 10000 images cannot be written to " in message
    assert "No space left on device; they take 36 MB; name another folder by TMPDIR" in message
    assert message.endswith("reid-data check --no-near-duplicates")
