"""Code on the pages works: Python runs, fragments compile, recipes load, files can be read."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import tomllib
from pathlib import Path

import pytest

from reid_core.config import load_config
from reid_core.config.schema import Config
from reid_core.config.yaml_reader import read_yaml
from reid_core.engine.check import check_config

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    str(path.relative_to(ROOT))
    for pattern in ("*.md", "docs/*.md", "docs/kinds/*.md", "core/README.md", "plugins/*/README.md")
    for path in ROOT.glob(pattern)
)

_RESULT = re.compile(r"print\(.*\)\s+# → (.*)$", re.M)


def expected_output(code):
    return [match[1].strip() for match in _RESULT.finditer(code)]


@pytest.mark.parametrize("name", PAGES)
def test_python_blocks_run_in_order_and_print_what_they_say(name, page, tiny_world):
    blocks = page(name).blocks("python")
    if not blocks:
        pytest.skip("no Python on this page")
    for block in page(name).blocks("yaml"):
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
    namespace = {"__name__": "page"}
    for block in blocks:
        code = compile("\n" * block.line + block.text, name, "exec")
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(code, namespace)
        printed = [line.strip() for line in output.getvalue().splitlines()]
        expected = expected_output(block.text)
        # In order, with other lines between them.
        remaining = iter(printed)
        assert all(line in remaining for line in expected), (
            f"{name}:{block.line} printed {printed}, the page says {expected}"
        )


@pytest.mark.parametrize("name", PAGES)
def test_fragments_compile(name, page):
    for block in page(name).blocks("py"):
        code = block.text
        if code.startswith("def ") and code.rstrip().endswith(("]", "None", "StepResult")):
            code = f"{code.rstrip()}: ..."
        ast.parse(code)


@pytest.mark.parametrize("name", PAGES)
def test_recipes_load_and_their_components_take_the_parameters(name, page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for position, block in enumerate(page(name).blocks("yaml")):
        path = Path(block.file or f"block{position}.yaml")
        path.write_text(block.text, encoding="utf-8")
        keys = set(read_yaml(block.text, str(path)).value)
        assert keys <= {*Config.model_fields, "extends"}, f"{name}:{block.line} is no recipe"
        check_config(load_config(path))


@pytest.mark.parametrize("name", PAGES)
def test_other_files_can_be_read(name, page):
    for block in page(name).blocks("yml"):
        read_yaml(block.text, name)
    for block in page(name).blocks("toml"):
        tomllib.loads(block.text)


def test_every_block_says_what_it_is(page):
    known = {"python", "py", "sh", "yaml", "yml", "toml", "text"}
    for name in (name for name in PAGES if not name.startswith("plugins/")):
        for block in page(name).blocks():
            is_directive = block.language.startswith("{")
            assert is_directive or block.language in known, f"{name}:{block.line}"
