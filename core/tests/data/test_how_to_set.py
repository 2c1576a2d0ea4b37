"""What a message says to type is pasted into both commands."""

from __future__ import annotations

import re
import shlex

import pytest

from reid_core.cli.data.params import read_params
from reid_core.config.yaml_reader import read_value
from reid_core.data.datasets.how_to_set import how_to_set


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("root", "my/images"),
        ("root", "C:/re id, #1/Märket"),
        ("root", "it's/here"),
        ("identity", "attributes.name"),
        ("camera", "true"),
        ("camera", "7"),
        ("root", ".5"),
        ("pattern", "{pid}/**"),
        ("pattern", "*/{pid}_c{camid:d}*"),
        ("splits", {"val": "gallery"}),
        ("splits", {"": "gallery", "part: 1, b": None}),
        ("columns", {"is_query": None, "pid": "who is it?"}),
    ],
)
def test_both_spellings_say_the_value(parameter, value):
    found = re.fullmatch(
        r"`(.*)` in the data set's braces of reid-train, `(.*)` for reid-data",
        how_to_set(parameter, value),
    )
    whole = read_value(f"{{name: folder, {found[1]}}}", "a recipe").plain()
    assert whole == {"name": "folder", parameter: value}
    option, text = shlex.split(found[2])
    assert option == "--param"
    assert read_params([text]) == {parameter: value}


def test_the_text_is_short():
    assert how_to_set("columns", {"pid": "NAME"}) == (
        "`columns: {pid: NAME}` in the data set's braces of reid-train, "
        "`--param 'columns={pid: NAME}'` for reid-data"
    )
