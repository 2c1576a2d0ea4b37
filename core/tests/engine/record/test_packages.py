from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pytest
from packaging.utils import canonicalize_name

from reid_core.engine.record.packages import Package, installed_packages
from reid_core.plugins.metadata import MetadataFiles


@pytest.fixture
def fresh():
    installed_packages.cache_clear()
    yield
    installed_packages.cache_clear()


def test_everything_that_is_installed_is_listed_with_its_version():
    # In a process of its own: a package that another test imports may have changed sys.path.
    code = "from reid_core.engine.record.packages import *; print(*installed_packages(), sep='\\n')"
    code += "; print(*(d.name for d in importlib.metadata.distributions()), sep='\\n')"
    shown = subprocess.run(
        [sys.executable, "-c", f"import importlib.metadata; {code}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    found = {
        dist: version
        for line in shown
        for dist, is_pinned, version in [line.partition("==")]
        if is_pinned
    }
    expected = {str(canonicalize_name(line)) for line in shown if "==" not in line}
    assert set(found) == expected
    assert list(found) == sorted(found)
    assert found["torch"] == importlib.metadata.version("torch")


def test_first_copy_counts_and_damaged_metadata_is_left_out(fresh, monkeypatch):
    url = '{"url": "file:///home/me/mine", "dir_info": {"editable": true}}'
    files = [
        MetadataFiles("/a", "Name: My_Dist\nVersion: 2\n\nName: other\n", "", url),
        MetadataFiles("/b", "Name: my-dist\nVersion: 1\n", "", ""),
        MetadataFiles("/c", "", "", ""),
        MetadataFiles("/d", "Metadata-Version: 2.1\nName: abc\nVersion: 1.0\n", "", ""),
    ]
    monkeypatch.setattr("reid_core.engine.record.packages.installed_files", lambda: iter(files))
    assert installed_packages() == (Package("abc", "1.0"), Package("my-dist", "2", "/home/me/mine"))
    assert [str(one) for one in installed_packages()] == [
        "abc==1.0",
        "my-dist==2  # editable: /home/me/mine",
    ]
