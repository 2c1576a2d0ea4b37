"""``train.init_from``: the weights that a new run begins with."""

from __future__ import annotations

import hashlib
import logging
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.engine.evaluation.weights import load_model
from reid_core.errors import CheckpointError
from reid_core.plugins.registries import LOSSES

CLASSIFIER = ("head.classifier.weight", "head.classifier.bias")


def config_of(recipe, output, **settings):
    plain = {key.replace("__", "."): value for key, value in settings.items()}
    short = {"train.epochs": 1, "train.schedule.warmup": None, "evaluate.every": 0}
    hooks = ["checkpoint", "metric_log"]
    return load_config(recipe, {**short, "default_hooks": hooks, "output": str(output), **plain})


@pytest.fixture
def source(tiny_recipe, tmp_path):
    """The folder of a run of one epoch."""
    trainer = DefaultTrainer(config_of(tiny_recipe, tmp_path / "source"))
    trainer.train()
    return trainer.folder.path


def begun(recipe, tmp_path, source, **settings):
    """Return a trainer that has loaded its initial weights and done no step."""
    config = config_of(recipe, tmp_path / "new", train__init_from=str(source), **settings)
    trainer = DefaultTrainer(config)
    trainer.resume_or_load()
    return trainer


@pytest.fixture
def fewer(tiny_market, tmp_path):
    """The setting of a data set with 3 of the 6 identities."""
    root = tmp_path / "fewer"
    shutil.copytree(tiny_market, root)
    for path in (root / "bounding_box_train").glob("000[123]_*"):
        path.unlink()
    return {"data__train": [{"name": "market1501", "root": str(root)}]}


def same(state, other):
    return sorted(key for key, value in state.items() if torch.equal(value, other[key]))


def test_a_run_a_weights_file_and_a_checkpoint_give_the_same(tiny_recipe, tmp_path, source, caplog):
    caplog.set_level(logging.INFO)
    weights = load_file(source / "weights" / "last.safetensors")
    files = ("", "weights/last.safetensors", "checkpoints/step_00000004.pt")
    for path in (source / file for file in files):
        trainer = begun(tiny_recipe, tmp_path, path)
        assert same(trainer.model.state_dict(), weights) == sorted(weights)
        assert (trainer.iter, len(trainer.optimizer.state)) == (0, 0), "all else is new"
        initial = trainer.initial_weights
        assert (initial.loaded_share, initial.dropped) == (1.0, ())
        assert set(initial.kept) == set(CLASSIFIER)
        assert initial.sha256 == hashlib.sha256(initial.path.read_bytes()).hexdigest()
    assert "loaded 100.0% of the parameters" in caplog.text
    assert "kept, as the identities are the same: head.classifier." in caplog.text


def test_what_is_evaluated_is_taken(tiny_recipe, tmp_path, source):
    path = source / "checkpoints" / "step_00000004.pt"
    state = torch.load(path, weights_only=True)
    state["eval_model"] = {key: value * 2 for key, value in state["model"].items()}
    torch.save(state, tmp_path / "ema.pt")
    trainer = begun(tiny_recipe, tmp_path, tmp_path / "ema.pt")
    weight = trainer.model.state_dict()["backbone.conv.weight"]
    assert torch.equal(weight, 2 * state["model"]["backbone.conv.weight"])


# B095
def test_the_classifier_of_other_identities_is_dropped_by_name(
    tiny_recipe, tmp_path, source, fewer, caplog
):
    caplog.set_level(logging.INFO)
    fresh = DefaultTrainer(config_of(tiny_recipe, tmp_path / "x", **fewer)).model.state_dict()
    trainer = begun(tiny_recipe, tmp_path, source, **fewer)
    assert set(trainer.initial_weights.dropped) == set(CLASSIFIER)
    (line,) = [r.getMessage() for r in caplog.records if "dropped" in r.getMessage()]
    assert all(key in line for key in CLASSIFIER)
    assert line.startswith("dropped, as the identities are others: ")
    found = trainer.model.state_dict()
    assert all(torch.equal(found[key], fresh[key]) for key in CLASSIFIER), "it starts anew"
    weights = load_file(source / "weights" / "last.safetensors")
    rest = sorted(set(weights) - set(CLASSIFIER))
    assert same({key: found[key] for key in rest}, weights) == rest


def test_as_many_identities_are_not_the_same_ones(tiny_recipe, tmp_path, source, tiny_market):
    root = tmp_path / "others"
    shutil.copytree(tiny_market, root)
    for path in (root / "bounding_box_train").glob("0001_*"):
        path.rename(path.with_name(f"0099{path.name[4:]}"))
    others = {"data__train": [{"name": "market1501", "root": str(root)}]}
    assert begun(tiny_recipe, tmp_path, source, **others).initial_weights.kept == ()


def test_a_file_that_tells_nothing_is_judged_by_its_shapes(
    tiny_recipe, tmp_path, source, fewer, caplog
):
    caplog.set_level(logging.INFO)
    weights = load_file(source / "weights" / "last.safetensors")
    # B098: every key may carry the prefix of a wrapper.
    save_file({f"model.{key}": value for key, value in weights.items()}, tmp_path / "f.safetensors")
    fitting = begun(tiny_recipe, tmp_path, tmp_path / "f.safetensors")
    assert set(fitting.initial_weights.kept) == set(CLASSIFIER)
    assert "kept, as the shapes fit, and no more is known: head.classifier" in caplog.text
    other = begun(tiny_recipe, tmp_path, tmp_path / "f.safetensors", **fewer)
    assert other.initial_weights.kept == ()


class Stateful(nn.Module):
    """A loss with a table of its own."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.zeros(3))

    def forward(self, output, batch):
        return nn.functional.cross_entropy(output.logits["global"], batch.pids)


def test_another_loss_takes_what_fits_it(tiny_recipe, tmp_path, source):
    LOSSES.register(Stateful, name="stateful_loss")
    try:
        trainer = begun(tiny_recipe, tmp_path, source, model__losses=[{"name": "stateful_loss"}])
        assert set(trainer.initial_weights.kept) == set(CLASSIFIER)
        trainer.train()
        back = begun(tiny_recipe, tmp_path / "back", trainer.folder.path)
        (dropped,) = back.initial_weights.dropped
        assert dropped.endswith("table")
    finally:
        LOSSES._local.pop("stateful_loss")


# B097
def test_a_renamed_layer_is_an_error_that_says_how_much_would_fit(tiny_recipe, tmp_path, source):
    weights = load_file(source / "weights" / "last.safetensors")
    renamed = {key.replace("norm", "bn"): value for key, value in weights.items()}
    save_file(renamed, tmp_path / "f.safetensors")
    with pytest.raises(CheckpointError) as caught:
        begun(tiny_recipe, tmp_path, tmp_path / "f.safetensors")
    message = str(caught.value)
    assert "% of the parameters match by name and shape, nothing was loaded" in message
    told = dict(line.split(" in the file: ") for line in message.splitlines()[1:3])
    assert {kind.strip() for kind in told} == {"4 missing", "5 unexpected"}
    assert "backbone.norm.weight" in told["  4 missing"]
    assert "backbone.bn.bias" in told["  5 unexpected"]


# B098
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"conv.weight": torch.ones(2)}, r"\(0 % of the parameters\).*model.backbone.weights="),
        (None, "not found"),
    ],
)
def test_a_file_with_nothing_of_the_model_or_none_at_all_is_an_error(
    tiny_recipe, tmp_path, content, message
):
    if content is not None:
        save_file(content, tmp_path / "f.safetensors")
    with pytest.raises(CheckpointError, match=message):
        begun(tiny_recipe, tmp_path, tmp_path / "f.safetensors")
    assert not (tmp_path / "new").exists()


def test_a_damaged_checkpoint_is_not_begun_with(tiny_recipe, tmp_path, source):
    path = source / "checkpoints" / "step_00000004.pt"
    content = bytearray(path.read_bytes())
    content[content.index(b"backbone.conv.weight") - 8000 :] = b""
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="is damaged"):
        begun(tiny_recipe, tmp_path, path)


# B096
def test_a_classifier_is_not_needed_to_evaluate(tiny_recipe, tmp_path, source, caplog):
    caplog.set_level(logging.INFO)
    path = source / "weights" / "last.safetensors"
    trainer = begun(tiny_recipe, tmp_path, path)
    model = load_model(config_of(tiny_recipe, tmp_path / "x"), path)
    images = torch.rand(2, 3, 32, 16)
    with torch.inference_mode():
        expected = trainer.model.eval().embed(images)
        assert torch.equal(model.embed(images), expected)
    lines = [r.getMessage() for r in caplog.records if "classifier, losses" in r.getMessage()]
    assert len(lines) == 1


def test_a_part_may_bring_its_weights_into_shape(tiny_recipe, tmp_path, source):
    weights = load_file(source / "weights" / "last.safetensors")
    weights["backbone.norm.bias"] = torch.cat([weights["backbone.norm.bias"]] * 2)
    save_file(weights, tmp_path / "f.safetensors")
    path = str(tmp_path / "f.safetensors")
    config = config_of(tiny_recipe, tmp_path / "new", train__init_from=path)
    with pytest.raises(CheckpointError, match=r"backbone.norm.bias \(16,\) against \(8,\)"):
        DefaultTrainer(config).resume_or_load()
    trainer = DefaultTrainer(config)
    seen = []

    def fit_weights(state, *, source):
        seen.append((sorted(state)[0], source))
        return {**state, "norm.bias": state["norm.bias"][:8]}

    trainer.model.backbone.fit_weights = fit_weights
    trainer.resume_or_load()
    assert seen == [("conv.bias", path)]
    assert torch.equal(trainer.model.backbone.norm.bias, weights["backbone.norm.bias"][:8])


def test_a_resumed_run_does_not_read_it_again(tiny_recipe, tmp_path, source, caplog):
    caplog.set_level(logging.INFO)
    begun(tiny_recipe, tmp_path, source).train()
    shutil.rmtree(source)
    config = config_of(tiny_recipe, tmp_path / "new", train__init_from=str(source))
    resumed = DefaultTrainer(config)
    resumed.resume_or_load("auto")
    assert resumed.start_iter == 4
    assert resumed.initial_weights is None
    assert "train.init_from is not read again: the checkpoint has all weights" in caplog.text
