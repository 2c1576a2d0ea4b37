from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reid_core.cli.data.source import SourceArguments, open_source, read_source
from reid_core.errors import ConfigError, DataError, PluginError, ReidError, UsageError


def opened(source: str | None, **options: object) -> list[dict[str, object]]:
    found = open_source(SourceArguments(source, **options))  # type: ignore[arg-type]
    assert found.config is None
    assert found.train == found.test
    return [one.as_call() for one in found.train]


def test_a_path_is_read_by_what_it_holds(tiny_market: Path) -> None:
    assert opened(str(tiny_market)) == [{"name": "market1501", "root": str(tiny_market)}]


def test_a_path_below_the_data_set_root_is_found(
    tiny_market: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REID_DATASETS", str(tiny_market.parent))
    assert opened(tiny_market.name)[0]["root"] == str(tiny_market)


def test_a_component_can_be_named_and_gets_the_path(tmp_path: Path) -> None:
    params = ("title=mine", "attributes=null")
    assert opened("some/where", dataset="market1501", params=params) == [
        {"name": "market1501", "root": "some/where", "title": "mine", "attributes": None}
    ]


def test_a_component_needs_no_path() -> None:
    assert opened(None, dataset="synthetic", params=("identities=2",)) == [
        {"name": "synthetic", "identities": 2}
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{pid}_c{camid:d}*.jpg", "{pid}_c{camid:d}*.jpg"),
        ("{pid}/{camid}/*", "{pid}/{camid}/*"),
        ("{val: gallery}", {"val": "gallery"}),
        ("[0, 1]", [0, 1]),
        ("'007'", "007"),
        ('"7"', "7"),
        ("a=b", "a=b"),
        ("*/{pid}_*.jpg", "*/{pid}_*.jpg"),
        ("**/{pid}/*", "**/{pid}/*"),
        ("&{pid}/*", "&{pid}/*"),
        ("[{pid}]_*", "[{pid}]_*"),
        ("{pid}_{camid}", "{pid}_{camid}"),
        ("%{pid}: {camid}", "%{pid}: {camid}"),
        ("#1/{pid}/*", "#1/{pid}/*"),
        ("re id #1", "re id #1"),
        ("{pid} #1/*", "{pid} #1/*"),
        ("null", None),
        ("1e-1", 0.1),
    ],
)
def test_parameters_are_yaml_and_templates_are_text(
    text: str, value: object, tiny_market: Path
) -> None:
    call = opened(str(tiny_market), params=(f"key={text}",))[0]
    assert call["key"] == value


def test_a_recipe_names_its_sets_and_each_is_read_once(tiny_recipe: Path, tmp_path: Path) -> None:
    arguments = SourceArguments(str(tiny_recipe))
    found = open_source(arguments)
    assert found.config is not None
    assert [one.name for one in found.train] == ["market1501"]
    assert found.train == found.test
    manifests = read_source(arguments)
    assert [one.name for one in manifests] == ["market1501"]
    assert manifests[0].count("train").identities == 6


def test_test_sets_of_a_recipe_come_after_its_training_sets(
    tiny_recipe: Path, tiny_market: Path
) -> None:
    other = f"data.test={{name: market1501, root: '{tiny_market.as_posix()}', title: other}}"
    found = read_source(SourceArguments(str(tiny_recipe), overrides=(other,)))
    assert [one.name for one in found] == ["market1501", "other"]


def test_two_sets_of_one_name_are_told_apart(tiny_recipe: Path, tmp_path: Path) -> None:
    again = "data.test={name: market1501, root: '%s', title: market1501}"
    root = open_source(SourceArguments(str(tiny_recipe))).train[0].parameters["root"]
    found = read_source(SourceArguments(str(tiny_recipe), overrides=(again % root,)))
    assert [one.name for one in found] == ["market1501", "market1501-2"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (SourceArguments(None), UsageError, "SOURCE is missing; name a recipe"),
        (SourceArguments("none.yaml"), ConfigError, "recipe none.yaml not found"),
        (SourceArguments("x", dataset="marke1501"), PluginError, "market1501"),
        (SourceArguments("none.yaml", params=("a=1",)), UsageError,
         "--param a=1 belongs to a data set, and none.yaml is taken for a recipe"),
        (SourceArguments(".", dataset="market1501", overrides=("data.root=1",)), UsageError,
         "--set data.root=1 belongs to a recipe, and the source is a data set; its parameters are "
         "given by --param root=1"),
        (SourceArguments(".", dataset="market1501", params=("title",)), UsageError,
         "--param 'title': expected key=value"),
        (SourceArguments(".", dataset="market1501", params=("name=x",)), UsageError,
         "--param 'name=x': expected key=value"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_says_what_to_type(
    arguments: SourceArguments, error: type[ReidError], message: str
) -> None:
    with pytest.raises(error) as caught:
        open_source(arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("nobody/nothing", "nor is there a recipe of that name"),
        ("crosp", "nor is there a recipe of that name"),
        ("tiny/strongg", "nor is there a recipe of that name; did you mean tiny/strong?"),
        ("mine", "nor is there a recipe of that name; did you mean the file mine.yaml?"),
        ("baselines/x", "known to be provided by reid-plugin-baselines: pip install reid-plugin-"
         "baselines"),
    ],
)  # fmt: skip
def test_a_slip_in_a_path_is_told_before_recipes_are(
    name: str, ends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reid_core.cli.data import missing_source
    from reid_core.plugins import refusals

    monkeypatch.chdir(tmp_path)
    (tmp_path / "crops").mkdir()
    (tmp_path / "mine.yaml").touch()
    monkeypatch.setattr(missing_source, "list_recipes", lambda: {"tiny/strong": tmp_path})
    monkeypatch.setattr(refusals, "installed_version", lambda dist: None)
    with pytest.raises(DataError) as caught:
        open_source(SourceArguments(name))
    text = str(caught.value)
    assert text.startswith(
        f"there is no file or folder {name}, nor one under REID_DATASETS (the nearest that exists "
        f"is {tmp_path}, with crops, mine.yaml in it"
    )
    assert text.endswith(ends)
    assert ("did you mean " + str(tmp_path / "crops") in text) == (name == "crosp")


@pytest.mark.parametrize("name", ["/no/such/folder", "./mine", "~/none-of-mine", "a.csv", "here/b"])
def test_what_can_only_be_a_path_is_missed_as_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    with pytest.raises(DataError, match=r"there is no file or folder .*the nearest that"):
        open_source(SourceArguments(name))


def test_an_unknown_parameter_is_refused_with_those_there_are(tiny_market: Path) -> None:
    with pytest.raises(ReidError, match="titel"):
        read_source(SourceArguments(str(tiny_market), params=("titel=x",)))


def test_a_folder_of_nothing_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="neither images nor folders"):
        open_source(SourceArguments(str(tmp_path)))


def test_local_code_can_bring_a_data_set(tmp_path: Path, tiny_market: Path) -> None:
    code = (
        "from reid_core.data.datasets.market1501 import market1501\n"
        "from reid_core.plugins.registries import DATASETS\n"
        "@DATASETS.register(name='of_a_file')\n"
        "def of_a_file(root):\n"
        "    return market1501(root, title='mine')\n"
    )
    (tmp_path / "my_reader.py").write_text(code)
    from reid_core.plugins.registries import DATASETS

    try:
        (found,) = read_source(
            SourceArguments(
                str(tiny_market),
                dataset="of_a_file",
                plugin_files=(str(tmp_path / "my_reader.py"),),
            )
        )
    finally:
        DATASETS.unregister("of_a_file")
        # Later runs of this process would keep a copy of the file.
        del sys.modules["my_reader"]
    assert found.name == "mine"
