"""Commands on the pages have options that exist, and name recipes and keys that exist."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest

from reid_core.cli import config, data, evaluate, plugins, train
from reid_core.config import load_config
from reid_core.templates import parse_names, render_project, template_kind
from reid_plugin_ray import command as ray_command

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    str(path.relative_to(ROOT))
    for pattern in ("*.md", "docs/*.md", "docs/kinds/*.md")
    for path in ROOT.glob(pattern)
)
COMMANDS = {
    "reid-train": train.main,
    "reid-eval": evaluate.main,
    "reid-config": config.main,
    "reid-data": data.main,
    "reid-plugins": plugins.main,
    "reid-ray": ray_command.main,
}


def commands(page):
    """Yield (words, line) of each command in the page's shell blocks."""
    for block in page.blocks("sh"):
        for offset, line in enumerate(block.text.splitlines(), 1):
            if line.strip():
                yield shlex.split(line, comments=True), block.line + offset


def parsed(command, words):
    """Return the option values of a command line; click refuses what does not exist."""
    name, *rest = words
    if isinstance(command, click.Group):
        name, *rest = rest
        command = command.commands[name]
    return command.make_context(name, rest).params


def made(page):
    """Yield the names and the template of each plugin that ``reid-plugins new`` makes."""
    for words, _ in commands(page):
        if words[:2] == ["reid-plugins", "new"]:
            params = parsed(plugins.main, words)
            template = template_kind(params["kind"])
            yield parse_names(params["plugin"], template), template


def own_recipes(page, folder):
    """Write the recipes of the page, and return the files of those that its packages have."""
    recipes = {}
    for names, template in made(page):
        path = folder / f"{names.component}.yaml"
        project = render_project(names, template)
        path.write_text(project.files[f"src/{names.module}/recipes/example.yaml"])
        recipes[f"{names.component}/example"] = str(path)
    for block in page.blocks("yaml", "yml"):
        if block.file:
            path = folder / block.file.rpartition("/")[2]
            path.write_text(block.text, encoding="utf-8")
            if package := re.search(r"reid_plugin_(\w+)/recipes/(\w+)\.", block.file):
                recipes[f"{package[1]}/{package[2]}"] = str(path)
    return recipes


@pytest.mark.parametrize("name", PAGES)
def test_our_commands_parse_and_their_recipes_load(name, page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = own_recipes(page(name), tmp_path)
    for words, line in commands(page(name)):
        if not words[0].startswith("reid-"):
            continue
        assert words[0] in COMMANDS, f"{name}:{line}"
        params = parsed(COMMANDS[words[0]], words)
        recipe = params.get("config_name") or params.get("name")
        overrides = params.get("overrides", ())
        recipe = own.get(recipe, recipe)  # of a package that the page builds; it is not installed
        if recipe is not None or overrides:
            load_config(recipe or "osnet/osnet_x0_25", overrides)


@pytest.mark.parametrize("name", PAGES)
def test_targets_of_make_exist(name, page):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    inline = re.findall(r"`make ([a-z-]+)", page(name).text)
    used = {words[1] for words, _ in commands(page(name)) if words[0] == "make"} | set(inline)
    assert used <= targets


@pytest.mark.parametrize("name", PAGES)
def test_packages_that_pip_is_told_of_are_ours(name, page):
    ours = {
        tomllib.loads(path.read_text(encoding="utf-8"))["project"]["name"]
        for path in (ROOT / "core/pyproject.toml", *ROOT.glob("plugins/*/pyproject.toml"))
    }
    examples = {names.dist for names, _ in made(page(name))} | {"reid-plugin-small"}
    for words, line in commands(page(name)):
        text = " ".join(words)
        for dist in re.findall(r"(?<![\w/-])reid-(?:core|plugin-[\w-]+)", text):
            assert dist in ours | examples, f"{name}:{line}: {dist}"
        if "-r" in words and "pip" in text:
            assert (ROOT / words[words.index("-r") + 1]).is_file(), f"{name}:{line}"
