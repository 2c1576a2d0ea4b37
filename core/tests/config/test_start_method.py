import multiprocessing

import pytest

from reid_core.config import Config, load_config
from reid_core.errors import ConfigError


@pytest.mark.parametrize("method", [None, *multiprocessing.get_all_start_methods()])
def test_every_method_of_the_platform_can_be_named(method, tmp_path):
    recipe = tmp_path / "f.yaml"
    recipe.write_text(f"data: {{start_method: {method or 'null'}}}")
    assert load_config(recipe).data.start_method == method


def test_the_default_is_that_of_python():
    assert Config().data.start_method is None


def test_a_method_that_the_platform_lacks_is_an_error_with_its_place(tmp_path, monkeypatch):
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    recipe = tmp_path / "f.yaml"
    recipe.write_text("data:\n  start_method: fork\n")
    with pytest.raises(ConfigError) as caught:
        load_config(recipe)
    assert str(caught.value) == (
        f"{recipe}:2:3  data.start_method: this platform has no start method 'fork'; expected "
        "spawn, or null for Python's default, got 'fork'"
    )


def test_a_typing_error_is_answered_with_the_choices():
    with pytest.raises(ValueError, match="'fork', 'spawn' or 'forkserver'"):
        Config.model_validate({"data": {"start_method": "forks"}})
