"""The page on the kit has every class, attribute, method and fixture, and its tests run."""

from __future__ import annotations

import inspect
import re

import pytest

from reid_core import testing
from reid_core.testing import fixtures

CLASSES = {
    cls.kind: cls
    for cls in (getattr(testing, name) for name in testing.__all__)
    if inspect.isclass(cls) and cls.kind
}
BASE = testing.Conformance


def kinds_of(cell):
    """Return the classes that a row is about."""
    word = cell.replace("data sets", "datasets")
    return [BASE] if word == "all" else [CLASSES[word]]


def test_every_class_is_named(page):
    text = page("docs/conformance.md").prose
    for cls in CLASSES.values():
        assert f"`{cls.__name__}`" in text


def test_the_attributes_are_those_of_the_classes(page):
    section = page("docs/conformance.md").section("Attributes")
    ((_, rows), (_, methods)) = section.tables()
    documented = {
        (kinds_of(cells[0])[0], name) for cells in rows for name in re.findall(r"`(\w+)`", cells[1])
    }
    expected = {
        (cls, name)
        for cls in (BASE, *CLASSES.values())
        for parent in cls.__mro__
        for name in vars(parent).get("__annotations__", {})
        if not name.startswith("_") and name != "kind" and (cls is BASE or not hasattr(BASE, name))
    }
    assert documented == expected
    for cells in methods:
        for name in re.findall(r"`(\w+)\(", cells[1]):
            assert callable(getattr(kinds_of(cells[0])[0], name))


def test_the_defaults_are_those_of_the_classes(page):
    ((_, rows), _) = page("docs/conformance.md").section("Attributes").tables()
    for cells in rows:
        names = re.findall(r"`(\w+)`", cells[1])
        values = [getattr(kinds_of(cells[0])[0], name) for name in names]
        if cells[3] == "required":
            assert not any(values)
            continue
        shown = [float(text) for text in re.findall(r"\d+(?:\.\d+)?", cells[3])]
        if shown:
            assert shown == list(flat(values)), names
        else:
            assert [cells[3].strip("`")] == [python(value) for value in values], names


def flat(values):
    for value in values:
        if isinstance(value, tuple | list):
            yield from flat(value)
        else:
            yield float(value)


def python(value):
    return repr(value).replace("'", '"')


def test_every_kind_has_its_row_of_checks(page):
    tables = page("docs/conformance.md").section("What is checked").tables()
    rows = {cells[0].replace("data sets", "datasets") for cells in tables[-1][1]}
    assert rows == set(CLASSES)


def test_every_fixture_is_listed(page):
    ((_, rows),) = page("docs/conformance.md").section("Fixtures").tables()
    there = {
        name
        for name, value in vars(fixtures).items()
        if "fixture" in type(value).__name__.lower() and not name.startswith("_")
    }
    assert {cells[0].strip("`") for cells in rows} == there


@pytest.mark.slow
def test_the_tests_of_the_page_pass(page, tmp_path, python_in):
    section = page("docs/conformance.md").section("Fixtures")
    for block in section.blocks("py"):
        path = tmp_path / block.file
        path.parent.mkdir(exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
    module = tmp_path / "src/reid_plugin_my_hook.py"
    module.parent.mkdir()
    module.write_text(
        "from reid_core import hookimpl\n\n\nclass MyHook:\n"
        "    @hookimpl\n    def after_step(self):\n        pass\n"
    )
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--import-mode=importlib"]
    result = python_in(tmp_path, "-m", "pytest", *options, "tests")
    assert "2 passed" in result.stdout, result.stdout[-3000:]
