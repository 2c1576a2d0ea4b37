"""B013: what a run with ``data.broken_images=skip`` went on without is in its folder."""

import json
import logging
import shutil

import pytest

from reid_core.config import load_config
from reid_core.engine.default_trainer import DefaultTrainer
from reid_core.engine.faults.broken_images_file import NAME
from reid_core.hookspecs import hookimpl


@pytest.fixture
def market(tiny_market, tmp_path):
    """A copy with one broken file a split."""
    root = tmp_path / "market"
    shutil.copytree(tiny_market, root)
    for folder in ("bounding_box_train", "query", "bounding_box_test"):
        first, *_ = sorted((root / folder).iterdir())
        first.write_bytes(first.read_bytes()[: first.stat().st_size // 2])
    return root


@pytest.fixture
def make_trainer(tiny_recipe, market, tmp_path):
    def make(name="run", **settings):
        overrides = {
            "data.train": [{"name": "market1501", "root": str(market)}],
            "data.broken_images": "skip",
            "output": str(tmp_path / name),
            **settings,
        }
        return DefaultTrainer(load_config(tiny_recipe, overrides))

    return make


def listed(trainer):
    content = json.loads((trainer.folder.path / NAME).read_text(encoding="utf-8"))
    assert content["schema"] == 1
    return content["images"]


def test_every_broken_image_is_listed_with_what_became_of_it(make_trainer, market, caplog):
    caplog.set_level(logging.WARNING, logger="reid_core")
    trainer = make_trainer()
    trainer.train()
    images = listed(trainer)
    by_folder = {entry["path"].split("/")[-2]: entry for entry in images}
    assert len(images) == len(by_folder) == 3
    for folder, entry in by_folder.items():
        files = [str(path) for path in sorted((market / folder).iterdir())]
        assert entry["path"] == files[0]
        assert entry["dataset"] == "market1501"
        assert entry["reason"].startswith("is broken: ")
    train, query, gallery = (
        by_folder[f] for f in ("bounding_box_train", "query", "bounding_box_test")
    )
    assert (train["use"], query["use"], gallery["use"]) == ("train", "test", "test")
    replaced_by = train["replaced_by"]
    assert replaced_by != train["path"]
    assert replaced_by.rsplit("/", 1)[1][:4] == train["path"].rsplit("/", 1)[1][:4]
    assert (query["replaced_by"], gallery["replaced_by"]) == (None, None)
    num_query = len(list((market / "query").iterdir()))
    assert (train["row"], query["row"], gallery["row"]) == (0, 0, num_query)
    [total] = [r.getMessage() for r in caplog.records if "broken images:" in r.getMessage()]
    assert total == (
        "3 broken images: 1 replaced in training, 2 left out of tests; listed in "
        f"{trainer.folder.path / NAME}"
    )
    left_out = [r.getMessage() for r in caplog.records if "left out:" in r.getMessage()]
    assert len(left_out) == 2  # once, in however many evaluations
    assert left_out[0].startswith(f"test set market1501: broken image left out: {query['path']} (")


def test_the_file_is_there_as_soon_as_an_image_was_met(make_trainer):
    trainer = make_trainer(**{"evaluate.every": 0})
    seen = []

    class Looks:
        @hookimpl
        def after_epoch(self, trainer):
            seen.append(len(listed(trainer)))

    trainer.hooks.add(Looks(), id="looks")
    trainer.train()
    assert seen[0] == 1


def test_a_resumed_run_keeps_what_was_listed_before(make_trainer, market):
    first = make_trainer()
    first.train(max_iter=8)
    before = listed(first)
    # Repaired meanwhile: the second part does not meet it.
    folder = market / "bounding_box_train"
    broken, whole, *_ = sorted(folder.iterdir())
    broken.write_bytes(whole.read_bytes())
    second = make_trainer()
    # An image of another size is other data.
    second.resume_or_load("auto", changes="use")
    assert second.start_iter > 0
    second.train()
    key = lambda entry: entry["path"]  # noqa: E731
    assert sorted(listed(second), key=key) == sorted(before, key=key)


def test_a_list_that_cannot_be_read_is_said_and_begun_anew(make_trainer, caplog):
    first = make_trainer()
    first.train(max_iter=8)
    (first.folder.path / NAME).write_text("[1", encoding="utf-8")
    second = make_trainer()
    second.resume_or_load("auto")
    caplog.set_level(logging.WARNING, logger="reid_core")
    second.train()
    assert any("cannot be read, and is begun anew" in r.getMessage() for r in caplog.records)
    assert len(listed(second)) == 3


def test_without_broken_images_there_is_no_file(tiny_config):
    config = tiny_config.model_copy(
        update={"data": tiny_config.data.model_copy(update={"broken_images": "skip"})}
    )
    trainer = DefaultTrainer(config)
    trainer.folder.path.mkdir(parents=True)
    (trainer.folder.path / NAME).write_text("of a run that failed before its first step")
    trainer.train()
    assert not (trainer.folder.path / NAME).exists()
