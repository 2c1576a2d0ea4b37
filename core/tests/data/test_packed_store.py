"""Reading a packed store: by any process or thread, with errors that say where."""

import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("lmdb")

from reid_core.data import packed_store
from reid_core.data.packed_store import DATA_FILE, PackedStore, forget, key_of
from reid_core.data.packed_writer import PackedWriter
from reid_core.errors import DataError

CONTENTS = {f"a/{n}.jpg": bytes([n]) * (n * 700) for n in range(20)} | {
    "数据 #1/ü,.png": b"umlaut",
    "long/" + "x" * 900: b"long",
    "empty.jpg": b"",
}


def write(folder, contents):
    folder.mkdir()
    with PackedWriter(folder) as writer:
        for path, content in contents.items():
            writer.put(path, content)
    return PackedStore(str(folder))


@pytest.fixture
def store(tmp_path):
    return write(tmp_path / "packed", CONTENTS)


def read_all(store):
    return {path: store.read(path) for path in CONTENTS}


def test_every_image_comes_back(store):
    assert read_all(store) == CONTENTS
    assert store.count() == len(CONTENTS)
    # No lock file: it may be on a disk that is read-only.
    assert [path.name for path in Path(store.root).iterdir()] == [DATA_FILE]


def test_an_image_is_located_inside_of_the_file(store):
    assert store.locate("a/1.jpg") == f"{store.root}/data.mdb/a/1.jpg"


def test_a_missing_image_is_an_error_of_the_system(store):
    with pytest.raises(FileNotFoundError) as caught:
        store.read("a/99.jpg")
    assert caught.value.strerror == f"the packed store {store.root} has no such image"


def test_keys_are_paths_and_short_enough_for_lmdb():
    assert key_of("a/ü.jpg") == "a/ü.jpg".encode()
    long, other = key_of("x" * 501), key_of("x" * 502)
    assert len(long) < 500
    assert long != other


def test_stores_of_one_folder_may_be_used_together_and_sent(store):
    copy = pickle.loads(pickle.dumps(store))
    assert read_all(store) == read_all(copy) == CONTENTS


def test_threads_read_at_once(store):
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: read_all(store) == CONTENTS, range(16)))
    assert all(results)


def _reads(store, queue):
    queue.put(
        (read_all(store) == CONTENTS, packed_store._opened[store.root].process == os.getpid())
    )


@pytest.mark.timeout(60)
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_another_process_opens_its_own(store, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this platform cannot {method}")
    assert store.read("a/1.jpg") == CONTENTS["a/1.jpg"]
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=_reads, args=(store, queue))
    process.start()
    assert queue.get(timeout=50) == (True, True)
    process.join()
    assert read_all(store) == CONTENTS  # what the child closed was its own


def test_a_folder_that_was_packed_anew_is_opened_anew(store, tmp_path):
    store.read("a/1.jpg")
    (tmp_path / "packed").rename(tmp_path / "old")
    again = write(tmp_path / "packed", {"a/1.jpg": b"new"})
    forget(again.root)
    assert again.read("a/1.jpg") == b"new"
    assert again.count() == 1
    forget(again.root)  # unchanged: stays open
    assert again.read("a/1.jpg") == b"new"


@pytest.mark.parametrize("use", [lambda store: store.read("a"), PackedStore.count])
def test_a_damaged_file_is_an_error_of_the_system(use, tmp_path):
    (tmp_path / DATA_FILE).write_bytes(b"no database" * 1000)
    with pytest.raises(OSError, match=f"the packed store {tmp_path} is damaged: .*not an LMDB"):
        use(PackedStore(str(tmp_path)))


def test_a_file_that_is_cut_short_is_told_before_it_is_read(tmp_path):
    store = write(tmp_path / "packed", {f"{n}.jpg": bytes(9000) for n in range(20)})
    forget(store.root)
    file = tmp_path / "packed" / DATA_FILE
    whole = file.stat().st_size
    os.truncate(file, whole // 2)
    with pytest.raises(OSError, match=rf"cut short: data\.mdb has {whole // 2} of {whole} bytes"):
        PackedStore(store.root).count()


def test_without_the_package_the_message_says_what_to_install(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "lmdb", None)
    with pytest.raises(DataError, match=r"needs the package lmdb.*pip install 'reid-core\[lmdb\]'"):
        store.read("a/1.jpg")


def test_importing_the_store_imports_no_lmdb():
    code = "import sys, reid_core.data.packed_store, reid_core.data.datasets.packed; "
    code += "sys.exit('lmdb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
