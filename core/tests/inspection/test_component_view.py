from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from reid_core.hookspecs import hookimpl
from reid_core.inspection.component_view import HookRow, code_view, recipes_that_use, view_of
from reid_core.plugins.component_ref import ComponentRef
from reid_core.plugins.index import PluginIndex
from reid_core.testing.fake_dist import FakeSite


class Watcher:
    """Watches.

    Args:
        every: Steps.
    """

    observer = True

    def __init__(self, *, every: int = 1) -> None: ...

    @hookimpl
    def after_step(self, trainer: object, step: int) -> None: ...

    @hookimpl(trylast=True)
    def on_log(self, scalars: object) -> None: ...


class Wrapper:
    @hookimpl(wrapper=True)
    def run_step(self):  # type: ignore[no-untyped-def]
        return (yield)


class Bare(Watcher):
    pass


def find(name: str, kind: str) -> tuple[ComponentRef, PluginIndex]:
    index = PluginIndex.scan()
    (ref,) = [ref for ref in index.by_kind(kind) if ref.name == name and ref.status != "shadowed"]
    return ref, index


def test_code_is_described_with_its_place_documentation_and_parameters() -> None:
    view = code_view(Watcher, "losses")
    assert (view.file, view.line) == (__file__, inspect.getsourcelines(Watcher)[1])
    assert view.doc == "Watches.\n\nArgs:\n    every: Steps."
    assert [(row.name, row.default) for row in view.parameters] == [("every", "1")]
    assert (view.hooks, view.is_observer) == ((), False)


def test_a_hook_is_described_with_the_arguments_that_it_asks_for() -> None:
    view = code_view(Watcher, "hooks")
    assert view.hooks == (
        HookRow("after_step", ("trainer", "step"), ""),
        HookRow("on_log", ("scalars",), "trylast"),
    )
    assert view.is_observer
    assert code_view(Wrapper, "hooks").hooks == (HookRow("run_step", (), "wrapper"),)


def test_a_class_without_documentation_does_not_show_that_of_its_base() -> None:
    assert code_view(Bare, "hooks").doc == ""


def test_what_python_cannot_place_has_no_place() -> None:
    view = code_view(len, "losses")
    assert (view.file, view.line) == ("", 0)


def test_recipes_are_named_that_use_a_component_by_either_spelling(fake_dist: FakeSite) -> None:
    fake_dist(
        "reid-plugin-x",
        {
            "heads": {"mine": "reid_plugin_x:Mine", "other": "reid_plugin_x:Mine"},
            "recipes": {"x": "reid_plugin_x.recipes"},
        },
        modules={
            "reid_plugin_x/__init__.py": "",
            "reid_plugin_x/recipes/plain.yaml": "model: {head: mine}\n",
            "reid_plugin_x/recipes/full.yaml": "model: {head: {name: reid-plugin-x/mine}}\n",
            "reid_plugin_x/recipes/none.yaml": "model: {head: other}\n",
            "reid_plugin_x/recipes/broken.yaml": "modle: 3\n",
            "reid_plugin_x/recipes/empty.yaml/not_a_file": "",
            "reid_plugin_x/recipes/child.yaml": "extends: plain.yaml\n",
        },
    )
    assert recipes_that_use(*find("mine", "heads")) == ("x/child", "x/full", "x/plain")
    assert recipes_that_use(*find("x", "recipes")) == ()


def test_a_recipe_that_uses_another_component_of_the_name_is_not_named(fake_dist: FakeSite) -> None:
    for dist in ("reid-plugin-x", "reid-plugin-y"):
        module = dist.replace("-", "_")
        groups = {"heads": {"mine": f"{module}:Mine"}, "recipes": {dist[-1]: f"{module}.recipes"}}
        recipe = f"model: {{head: {{name: {dist}/mine}}}}\n"
        modules = {f"{module}/__init__.py": "", f"{module}/recipes/a.yaml": recipe}
        fake_dist(dist, groups, modules=modules)
    index = PluginIndex.scan()
    users = {r.dist: recipes_that_use(r, index) for r in index.by_kind("heads") if r.name == "mine"}
    assert users == {"reid-plugin-x": ("x/a",), "reid-plugin-y": ("y/a",)}


def test_recipes_are_shown_with_their_files(fake_dist: FakeSite) -> None:
    root = fake_dist(
        "reid-plugin-x",
        {"recipes": {"x": "reid_plugin_x.recipes"}},
        modules={"reid_plugin_x/__init__.py": "", "reid_plugin_x/recipes/a.yaml": "seed: 1\n"},
    )
    view = view_of(*find("x", "recipes"), ())
    assert view.recipe_files == {"x/a": root / "reid_plugin_x" / "recipes" / "a.yaml"}
    assert (view.code, view.snippet, view.error) == (None, "extends: x/a\n", "")


@pytest.mark.parametrize(
    ("requires", "value", "text"),
    [
        (["reid-core>=99"], "reid_plugin_x:Mine", "needs reid-core>=99"),
        ([], "reid_plugin_x:Mien", "cannot be loaded: AttributeError"),
        ([], "reid_plugin_x", "is no 'module:attribute'"),
    ],
)
def test_what_cannot_be_used_has_an_error_in_place_of_its_code(
    requires: list[str], value: str, text: str, fake_dist: FakeSite
) -> None:
    fake_dist(
        "reid-plugin-x",
        {"heads": {"mine": value}},
        requires=requires,
        modules={"reid_plugin_x.py": "class Mine: pass\n"},
    )
    view = view_of(*find("mine", "heads"), ())
    assert (view.code, view.snippet) == (None, "")
    assert text in view.error
    assert "reid-plugin-x" in view.error


def test_a_contested_name_is_written_in_full(fake_dist: FakeSite) -> None:
    for dist in ("reid-plugin-x", "reid-plugin-y"):
        module = dist.replace("-", "_")
        source = {f"{module}.py": f"class Mine:\n    '''Of {dist}.'''\n"}
        fake_dist(dist, {"heads": {"mine": f"{module}:Mine"}}, modules=source)
    index = PluginIndex.scan()
    for ref in index.by_kind("heads"):
        if ref.name == "mine":
            view = view_of(ref, index, ())
            assert f"name: {ref.dist}/mine" in view.snippet
            assert view.code is not None
            assert view.code.doc == f"Of {ref.dist}."


def test_what_an_import_prints_is_kept_out_of_the_result(
    fake_dist: FakeSite, capsys: pytest.CaptureFixture[str]
) -> None:
    source = {"reid_plugin_x.py": "print('noise')\nclass Mine: pass\n"}
    fake_dist("reid-plugin-x", {"heads": {"mine": "reid_plugin_x:Mine"}}, modules=source)
    view_of(*find("mine", "heads"), ())
    assert capsys.readouterr() == ("", "noise\n")


def test_a_view_is_made_of_plain_types() -> None:
    ref, index = find("console", "hooks")
    plain = view_of(ref, index, ("a/b",)).plain()
    assert (plain["kind"], plain["name"], plain["used_by"]) == ("hooks", "console", ["a/b"])
    assert plain["is_observer"] is True
    assert Path(str(plain["file"])).name == "console.py"
    assert plain["error"] == ""
