"""The page about Ray has the help texts, the distributions and the columns that there are."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from click.testing import CliRunner

from reid_core.config import load_config
from reid_core.data.manifest import Manifest
from reid_plugin_ray.command import main
from reid_plugin_ray.embedding.part_file import part_table
from reid_plugin_ray.tuning.space import Kind, read_space
from reid_plugin_ray.tuning.trial_config import check_space


@pytest.fixture
def ray_page(page):
    return page("docs/ray.md")


@pytest.mark.parametrize("command", sorted(main.commands))
def test_the_page_shows_the_help_text(command, ray_page):
    result = CliRunner().invoke(main, [command, "--help"], prog_name="reid-ray", terminal_width=78)
    blocks = [block.text.partition("\n") for block in ray_page.blocks("text")]
    shown = {first: rest for first, _, rest in blocks}
    assert shown[f"$ reid-ray {command} --help"].strip() == result.output.strip()


def test_the_space_of_the_page_works_with_its_recipe(ray_page, tmp_path):
    (block,) = (one for one in ray_page.blocks("yml"))
    path = tmp_path / "space.yaml"
    path.write_text(block.text, encoding="utf-8")
    check_space(load_config("osnet/osnet_x0_25"), read_space(path))


def test_the_page_has_every_distribution(ray_page):
    ((_, rows),) = ray_page.section("Sweeps").tables()[:1]
    assert tuple(cells[0].strip("`").partition(":")[0] for cells in rows) == get_args(Kind)


def test_the_page_has_every_column_of_a_part(ray_page):
    manifest = Manifest(
        name="d",
        root=Path(),
        paths=np.array(["a.jpg"]),
        pids=np.array([1]),
        camids=np.array([1]),
        splits=np.array(["query"]),
    )
    table = part_table(manifest, np.array([0]), ["a.jpg"], np.zeros((1, 4), dtype=np.float32))
    ((_, rows),) = ray_page.section("Embeddings of a data set").tables()
    assert [cells[0].strip("`") for cells in rows] == [*table.column_names, "others"]
