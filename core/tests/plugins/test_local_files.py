from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys

import pytest

from reid_core.errors import PluginError, UsageError
from reid_core.plugins.local_files import load_plugin_file, plugin_file_of, plugin_files
from reid_core.plugins.registries import HEADS

CODE = """
from reid_core.plugins.registries import HEADS


@HEADS.register(name="from_a_file")
class Head:
    pass
"""


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """What a test loads is unknown afterwards."""
    modules = set(sys.modules)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(HEADS, "_local", dict(HEADS._local))
    yield
    for name in set(sys.modules) - modules:
        del sys.modules[name]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "my_local_head.py"
    path.write_text(CODE)
    return path


def test_what_a_file_registers_can_be_named_and_has_its_hash_for_a_version(file):
    record = load_plugin_file(file)
    ref = HEADS.resolve("from_a_file")
    assert ref.dist == "local"
    assert ref.value == "my_local_head:Head"
    assert ref.version == f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()[:12]}"
    assert plugin_files() == [record]
    assert plugin_file_of(HEADS.get("from_a_file")) == record
    assert plugin_file_of(PluginError) is None


def test_the_record_is_of_what_was_imported_not_of_what_the_file_became(file):
    record = load_plugin_file(file)
    file.write_text(CODE + "# edited")
    assert load_plugin_file(file) is record, "a file is run once"
    assert record.content == CODE.encode()


def test_a_process_that_is_started_anew_finds_its_classes(file):
    load_plugin_file(file)
    data = pickle.dumps(HEADS.get("from_a_file")())
    # As multiprocessing does for spawn: the path of the parent, then the object.
    code = f"import sys, pickle; sys.path = {sys.path!r}; print(type(pickle.loads({data!r})))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "my_local_head.Head" in result.stdout, result.stderr


def test_neighbours_can_be_imported(file):
    (file.parent / "a_neighbour_module.py").write_text("VALUE = 3\n")
    file.write_text("from a_neighbour_module import VALUE\n")
    load_plugin_file(file)
    assert sys.modules["my_local_head"].VALUE == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.py", "does not exist"),
        ("", "is a folder; name the file in it"),
        ("my-hook.py", "expected a Python file whose name can be imported"),
        ("hook.txt", "expected a Python file"),
        ("random.py", r"there is another module named random \(.*random.py\); rename the file"),
        ("numpy.py", "there is another module named numpy"),
    ],
)
def test_a_file_that_cannot_be_imported_under_its_name_is_refused(name, message, tmp_path):
    path = tmp_path / name
    if name and name != "none.py":
        path.write_text(CODE)
    before = list(sys.path)
    with pytest.raises(UsageError, match=message):
        load_plugin_file(path)
    assert sys.path == before


def test_two_files_of_one_name_are_refused(file, tmp_path):
    load_plugin_file(file)
    other = tmp_path / "other" / file.name
    other.parent.mkdir()
    other.write_text(CODE)
    with pytest.raises(UsageError, match="there is another module named my_local_head"):
        load_plugin_file(other)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = 1\nimport not_there\n", r"my_local_head.py:2 cannot be loaded: ModuleNotFoundError"),
        ("import sys\nsys.exit(7)\n", r"my_local_head.py:2 cannot be loaded: SystemExit: 7"),
        ("x = 1\ny = (\n", r"my_local_head.py:2 cannot be loaded: SyntaxError"),
        ("raise ImportError()\n", r"my_local_head.py:1 cannot be loaded: ImportError\(\)"),
    ],
)
def test_code_that_fails_is_named_with_its_line(code, message, file):
    file.write_text(code)
    with pytest.raises(PluginError, match=message) as caught:
        load_plugin_file(file)
    assert caught.value.__cause__ is not None
