from __future__ import annotations

from pathlib import Path

import pytest

from reid_core.errors import UsageError
from reid_core.templates.writer import write_project


def everything(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_every_file_is_written_in_a_folder_named_like_the_distribution(render, tmp_path):
    project = render("loss")
    folder = write_project(project, tmp_path)
    assert folder == tmp_path / "reid-plugin-my-part"
    for path, text in project.files.items():
        assert (folder / path).read_bytes() == text.encode()
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]


def test_an_author_with_any_letters_is_written_as_utf_8(render, tmp_path):
    folder = write_project(render("loss", author="Đặng Æ 李"), tmp_path)
    assert "Đặng Æ 李" in (folder / "LICENSE").read_text(encoding="utf-8")


def test_the_folder_above_is_made_and_an_empty_place_is_taken(render, tmp_path):
    (tmp_path / "a" / "b" / "reid-plugin-my-part").mkdir(parents=True)
    assert (write_project(render("loss"), tmp_path / "a" / "b") / "README.md").is_file()
    assert (write_project(render("loss"), tmp_path / "c" / "d") / "README.md").is_file()


def test_others_may_read_it_as_any_new_folder(render, tmp_path):
    (tmp_path / "usual").mkdir()
    folder = write_project(render("loss"), tmp_path)
    assert folder.stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_place_that_holds_something_is_left_alone(render, tmp_path):
    place = tmp_path / "reid-plugin-my-part"
    place.mkdir()
    (place / "mine.txt").write_text("mine")
    with pytest.raises(
        UsageError, match=r"is not empty \(it holds mine.txt\), and nothing is over"
    ):
        write_project(render("loss"), tmp_path)
    assert everything(tmp_path) == ["reid-plugin-my-part", "reid-plugin-my-part/mine.txt"]


@pytest.mark.parametrize("make", [Path.touch, lambda path: path.symlink_to("nowhere")])
def test_a_place_that_is_no_folder_is_left_alone(make, render, tmp_path):
    make(tmp_path / "reid-plugin-my-part")
    with pytest.raises(UsageError, match="is no folder, and nothing is overwritten"):
        write_project(render("loss"), tmp_path)


def test_a_failure_in_the_middle_leaves_nothing(render, tmp_path, monkeypatch):
    write_text = Path.write_text

    def full_disk(path, text, **options):
        if path.name == "pyproject.toml":
            raise OSError(28, "No space left on device")
        return write_text(path, text, **options)

    monkeypatch.setattr(Path, "write_text", full_disk)
    with pytest.raises(UsageError, match=r"cannot write .*: No space left on device; name another"):
        write_project(render("loss"), tmp_path)
    assert everything(tmp_path) == []


def test_a_parent_that_is_a_file_is_an_error(render, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"cannot write .*; name another folder by --dir"):
        write_project(render("loss"), tmp_path / "file")
