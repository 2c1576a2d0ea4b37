"""The recipes of this package keep what the framework asks of them."""

from reid_core.testing import RecipeConformance


class TestBaselines(RecipeConformance):
    name = "baselines"
    dist = "reid-plugin-baselines"
