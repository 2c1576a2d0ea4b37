"""The checks of the recipes that a distribution ships."""

from __future__ import annotations

from collections.abc import Callable

from reid_core.config import Config, load_config
from reid_core.config.recipes import list_recipes
from reid_core.engine.check import check_config
from reid_core.errors import ReidError
from reid_core.testing.base import Conformance
from reid_core.testing.failure import ConformanceError


class RecipeConformance(Conformance):
    """The checks of recipes: an entry point of kind ``recipes`` names a package of YAML files."""

    kind = "recipes"

    def factory(self) -> Callable[..., object]:
        """Fail: recipes are files, nothing is called."""
        raise ConformanceError("recipes are files; nothing is built")

    def recipes(self) -> list[str]:
        """Return the names of the recipes, as ``--config`` takes them with the distribution."""
        prefix, qualified = f"{self.ref().name}/", f"{self.ref().qualified}/"
        names = [name for name in list_recipes() if name.startswith((prefix, qualified))]
        self.require(
            bool(names),
            f"the package {self.ref().value} holds no YAML file; have the build include them, and "
            "install the package again",
        )
        return [f"{self.dist}/{name.removeprefix(f'{self.dist}/')}" for name in names]

    # Checks.

    def test_comes_from_its_installed_entry_point(self) -> None:
        """The name is found in the metadata, and its package holds recipes."""
        self.recipes()

    def test_unknown_parameter_is_refused(self) -> None:
        """Does not apply: nothing is called."""

    def test_import_prints_nothing(self) -> None:
        """Does not apply: nothing is imported."""

    def test_import_changes_no_global_state(self) -> None:
        """Does not apply: nothing is imported."""

    def test_recipes_load(self) -> None:
        """Every recipe fits the schema."""
        for name in self.recipes():
            self._load(name)

    def test_recipes_name_what_is_installed(self) -> None:
        """Every component of every recipe is found, and takes its parameters."""
        for name in self.recipes():
            try:
                check_config(self._load(name))
            except ReidError as error:
                self.fail(
                    f"recipe {name}: {error}\n  what a recipe needs must be a dependency of the "
                    "package that ships it",
                )

    def test_recipes_say_what_they_are(self) -> None:
        """Each has a description, which ``reid-config`` lists."""
        for name in self.recipes():
            self.require(
                bool(self._load(name).description.strip()),
                f"recipe {name} has no description; begin it with a line `description: …`",
            )

    # Helpers.

    def _load(self, name: str) -> Config:
        try:
            return load_config(name)
        except ReidError as error:
            raise ConformanceError(f"recipe {name} does not load: {error}") from error
