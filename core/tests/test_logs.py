from __future__ import annotations

import logging
from pathlib import Path

import pytest

from reid_core.logs import logging_to


def test_lines_of_ours_and_of_plugins_are_shown_and_kept_from_the_beginning(tmp_path, capsys):
    path = tmp_path / "run" / "train.log"
    with logging_to() as log_file:
        logging.getLogger("reid_core").info("before the folder is known")
        logging.getLogger("reid_plugin_x.part").info("from a plugin")
        logging.getLogger("reid_core").debug("only in the file")
        logging.getLogger("somebody.else").info("not ours")
        logging.getLogger("somebody.else").warning("worth knowing")
        log_file.open(path)
        logging.getLogger("reid_core").warning("after")
    logging.getLogger("reid_core").warning("outside")
    shown = capsys.readouterr().err.splitlines()
    assert shown[:4] == [
        "before the folder is known",
        "from a plugin",
        "warning: worth knowing",
        "warning: after",
    ]
    kept = [line.split(" ", 2)[2] for line in path.read_text(encoding="utf-8").splitlines()]
    assert kept == [
        "INFO before the folder is known",
        "INFO from a plugin",
        "DEBUG only in the file",
        "WARNING worth knowing",
        "WARNING after",
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_costs_the_file_its_lines_and_nothing_else(capsys):
    logger = logging.getLogger("reid_core")
    with logging_to() as log_file:
        log_file.open(Path("/dev/full"))
        logger.info("one")
        logger.info("two")
    shown = capsys.readouterr().err.splitlines()
    told = (
        "warning: /dev/full cannot be written: No space left on device; it lacks lines from here on"
    )
    assert sorted(shown) == sorted(["one", "two", told])


def test_levels_and_handlers_are_restored():
    root = logging.getLogger()
    before = root.level, list(root.handlers), logging.getLogger("reid_core").level
    with logging_to(verbose=True):
        assert len(root.handlers) == len(before[1]) + 2
    assert (root.level, list(root.handlers), logging.getLogger("reid_core").level) == before
