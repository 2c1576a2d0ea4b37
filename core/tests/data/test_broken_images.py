from reid_core.data.broken_images import BrokenImage, BrokenImages


def image(row, reason="is empty"):
    return BrokenImage(f"{row}.jpg", row, "set", reason)


def test_each_row_is_listed_once_in_the_order_it_was_met():
    broken = BrokenImages()
    assert broken.note([image(5), image(2), image(5)]) == [image(5), image(2)]
    assert broken.note([image(2, "another reason"), image(7)]) == [image(7)]
    assert list(broken) == [image(5), image(2), image(7)]
    assert len(broken) == 3
