import pytest

from reid_core.testing import RecipeConformance
from reid_core.testing.fake_dist import FakeSite

GOOD = """
description: a model without parts, on drawn people
model: {name: baseline}
data:
  train: {name: synthetic, identities: 8}
"""

FAULTS = {
    "it does not fit the schema": (
        "test_recipes_load", "data:", "date:", "does not load(.|\n)*did you mean data",
    ),
    "it names what is not there": (
        "test_recipes_name_what_is_installed", "{name: baseline}", "{name: someones_model}",
        "unknown model 'someones_model'(.|\n)*must be a dependency of the package",
    ),
    "it gives a parameter that is not there": (
        "test_recipes_name_what_is_installed", "identities: 8", "people: 8", "people",
    ),
    "it says nothing": (
        "test_recipes_say_what_they_are", "description: a model without parts, on drawn people",
        "seed: 1", "has no description",
    ),
}  # fmt: skip


@pytest.fixture
def recipes(fake_dist: FakeSite):
    def install(modules: dict[str, str]) -> RecipeConformance:
        dist = "reid-plugin-example"
        fake_dist(dist, {"recipes": {"example": "reid_plugin_example.recipes"}}, modules=modules)
        return type("TestExample", (RecipeConformance,), {"name": "example", "dist": dist})()

    return install


FILE = "reid_plugin_example/recipes/first.yaml"
PACKAGE = {"reid_plugin_example/__init__.py": ""}


def test_good_recipes_pass_every_check(recipes, run_all_checks) -> None:
    component = recipes({**PACKAGE, FILE: GOOD, FILE.replace("first", "second"): GOOD})
    assert component.recipes() == [
        "reid-plugin-example/example/first",
        "reid-plugin-example/example/second",
    ]
    assert run_all_checks(component) == 6


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(recipes, run_check, fault: str) -> None:
    check, old, new, message = FAULTS[fault]
    component = recipes({**PACKAGE, FILE: GOOD.replace(old, new)})
    with pytest.raises(AssertionError, match=message):
        run_check(component, check)


def test_a_package_without_recipes_is_found(recipes, run_check) -> None:
    component = recipes({**PACKAGE, "reid_plugin_example/recipes/notes.txt": "none"})
    with pytest.raises(AssertionError, match="holds no YAML file"):
        run_check(component, "test_comes_from_its_installed_entry_point")
