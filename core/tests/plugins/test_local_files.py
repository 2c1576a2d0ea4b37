from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys

import pytest

from reid_core.errors import PluginError, UsageError
from reid_core.plugins.local_files import load_plugin_file, plugin_file_of, plugin_files
from reid_core.plugins.registries import HEADS, local_components

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


def registered_names():
    return {(ref.kind, ref.name) for ref in local_components()}


def test_after_a_failure_everything_is_as_before_and_the_mended_file_can_be_loaded(file):
    neighbour = CODE.replace("from_a_file", "from_a_neighbour")
    (file.parent / "a_neighbour_module.py").write_text(neighbour)
    before = (list(sys.path), set(sys.modules), registered_names())
    file.write_text("import a_neighbour_module\n" + CODE + "1 / 0\n")
    with pytest.raises(
        PluginError, match=r"my_local_head.py:9 cannot be loaded: ZeroDivisionError"
    ):
        load_plugin_file(file)
    assert (list(sys.path), set(sys.modules), registered_names()) == before
    file.write_text("import a_neighbour_module\n" + CODE)
    load_plugin_file(file)
    names = {("heads", "from_a_file"), ("heads", "from_a_neighbour")}
    assert registered_names() - before[2] == names


def test_a_failure_leaves_what_another_file_of_the_folder_needs(file):
    load_plugin_file(file)
    other = file.with_name("my_other_head.py")
    other.write_text("import my_local_head\n1 / 0\n")
    before = (list(sys.path), registered_names())
    with pytest.raises(PluginError, match=r"my_other_head.py:2"):
        load_plugin_file(other)
    assert (list(sys.path), registered_names()) == before
    assert len(plugin_files()) == 1


def test_an_interrupt_takes_it_back_too_and_stays_an_interrupt(file):
    before = registered_names()
    file.write_text(CODE + "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load_plugin_file(file)
    assert registered_names() == before


def test_another_spelling_of_its_path_is_the_same_file(file, tmp_path, monkeypatch):
    record = load_plugin_file(file)
    folder = tmp_path / "linked"
    folder.symlink_to(tmp_path, target_is_directory=True)
    link = tmp_path / "another_name.py"
    link.symlink_to(file)
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    for name in (f"../{tmp_path.name}/{file.name}", folder / file.name, link, file.name):
        assert load_plugin_file(name) is record
    assert sys.path == path


def test_a_file_that_its_folder_offers_under_another_spelling_is_no_other_module(file, monkeypatch):
    monkeypatch.syspath_prepend(file.parent)
    spelling = os.path.join(file.parent, "..", file.parent.name, file.name)  # noqa: PTH118
    file.write_text("1 / 0\n")
    with pytest.raises(PluginError, match=r"my_local_head.py:1 cannot be loaded"):
        load_plugin_file(spelling)
    file.write_text(CODE)
    load_plugin_file(spelling)
    assert HEADS.resolve("from_a_file").value == "my_local_head:Head"
