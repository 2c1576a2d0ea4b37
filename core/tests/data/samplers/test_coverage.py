import pytest

from reid_core.data.samplers.coverage import Share, coverage


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (Share(18, 18), "18 of 18 images (100.0%)"),
        (Share(12935, 12936), "12935 of 12936 images (99.9%)"),  # 100.0% means all
        (Share(57, 100), "57 of 100 images (57.0%)"),  # 57 / 100 · 1000 is below 570
        (Share(0, 7), "0 of 7 images (0.0%)"),
        (Share(16, 18, "at_least"), "at least 16 of 18 images (88.8%)"),
        (Share(11.6, 18, "expected"), "on average 12 of 18 images (64.4%)"),
    ],
)
def test_a_share_is_told_with_what_it_is_worth(share, text):
    assert share.of("images") == text


def test_a_coverage_is_of_images_and_identities():
    assert coverage(Share(9, 18), Share(1.5, 3, "expected")) == (
        "it sees 9 of 18 images (50.0%) and on average 2 of 3 identities (50.0%)"
    )
