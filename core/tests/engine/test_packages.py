from __future__ import annotations

import importlib.metadata

import pytest
from packaging.utils import canonicalize_name

from reid_core.engine.packages import Package, installed_packages
from reid_core.plugins.metadata import MetadataFiles


@pytest.fixture
def fresh():
    installed_packages.cache_clear()
    yield
    installed_packages.cache_clear()


def test_everything_that_is_installed_is_listed_with_its_version():
    found = {one.dist: one.version for one in installed_packages()}
    expected = {
        str(canonicalize_name(dist.metadata["Name"]))
        for dist in importlib.metadata.distributions()
        if dist.metadata["Name"]
    }
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
    monkeypatch.setattr("reid_core.engine.packages.installed_files", lambda: iter(files))
    assert installed_packages() == (Package("abc", "1.0"), Package("my-dist", "2", "/home/me/mine"))
    assert [str(one) for one in installed_packages()] == [
        "abc==1.0",
        "my-dist==2  # editable: /home/me/mine",
    ]
