from __future__ import annotations

import pytest

from reid_core.data.datasets.path_template import PathTemplate
from reid_core.errors import ConfigError


def match(pattern, path):
    return PathTemplate(pattern, what="data set mine").match(path)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("{pid}/*", "a/1.jpg", {"pid": "a"}),
        ("{pid}/*", "a/b/1.jpg", None),
        ("{pid}/**", "a/b/1.jpg", {"pid": "a"}),
        ("**/{pid}.jpg", "x/y/a.jpg", {"pid": "a"}),
        ("**/{pid}.jpg", "a.jpg", {"pid": "a"}),
        ("{pid}_c{camid:d}*", "a_b_c12s.jpg", {"pid": "a_b", "camid": "12"}),
        ("{pid}_c{camid:d}*", "a_cx.jpg", None),
        ("{pid}_{camid}.jpg", "a_b_c.jpg", {"pid": "a", "camid": "b_c"}),
        ("{pid:d}_*", "007_1.jpg", {"pid": "007"}),
        ("{pid:d}_*", "a7_1.jpg", None),
        ("{pid}/{pid}_*", "ab/ab_1.jpg", {"pid": "ab"}),
        ("{pid}/{pid}_*", "ab/a_1.jpg", None),
        ("a.b+({pid})*", "a.b+(x).jpg", {"pid": "x"}),
        ("a.b+({pid})*", "a_b+(x).jpg", None),
        ("{{{pid}}}*", "{x}.jpg", {"pid": "x"}),
        (r"{pid}\{camid}\*", "x/1/2.jpg", {"pid": "x", "camid": "1"}),
        ("{pid}/*.jpg", "x/1.JPG", None),
    ],
)
def test_a_path_gives_the_text_of_each_field(pattern, path, expected):
    assert match(pattern, path) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("{split}/*", "does not say where the identity is; expected {pid} in it"),
        ("{pid}/{camid:x}", "{camid:x} cannot be; expected {pid}, {camid}, {split} or"),
        ("{pid}/{}", "{} cannot be"),
        ("{pid}/{0}", "{0} cannot be"),
        ("{pid}/{a.b}", "{a.b} cannot be"),
        ("{pid}/{boxes}", "{boxes} cannot be"),
        ("{pid", "write {{ for a brace"),
        ("pid}", "write {{ for a brace"),
    ],
)
def test_a_pattern_that_cannot_be_says_why(pattern, expected):
    with pytest.raises(ConfigError) as caught:
        PathTemplate(pattern, what="data set mine")
    assert str(caught.value).startswith(f"data set mine: pattern {pattern!r}")
    assert expected in str(caught.value)
