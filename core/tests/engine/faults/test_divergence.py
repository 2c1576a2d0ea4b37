"""Losses and gradients that are not finite: what is saved, said and undone."""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import replace

import pytest
import torch

from reid_core.checkpoint.saving import Saving
from reid_core.checkpoint.writer import BackgroundWriter
from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.engine.faults.divergence import MAX_ROLLBACKS, MAX_SKIPS, DivergenceWatch
from reid_core.engine.faults.nan_batch import MAX_FILES
from reid_core.engine.step.loss_scaler import LossScaler
from reid_core.errors import TrainingError
from reid_core.hookspecs import hookimpl

NAN = float("nan")


class Trainer(DefaultTrainer):
    """Whose images, losses or gradients are not finite in some steps."""

    bad_images = bad_losses = bad_gradients = ()

    def build_model(self):
        model = super().build_model()
        weight = next(model.parameters())
        weight.register_hook(lambda g: g * NAN if self.iter in self.bad_gradients else g)
        return model

    def forward(self, batch):
        if self.iter in self.bad_images:
            batch = batch.with_images(batch.images * NAN)
        output = super().forward(batch)
        if self.iter in self.bad_losses:
            return replace(output, losses={n: v * NAN for n, v in output.losses.items()})
        return output


def copied(state):
    return {name: value.clone() for name, value in state.items()}


class Watch:
    """Keeps what each step left, and the rows it saw; counts updates as an average would."""

    def __init__(self):
        self.steps, self.rows, self.updates = [], [], 0

    @hookimpl
    def after_step(self, trainer, step, result):
        self.updates += not result.is_skipped
        moments = [copied(dict(s.items())) for s in trainer.optimizer.state.values()]
        self.steps.append(
            (result.is_skipped, copied(trainer.model.state_dict()), moments, trainer.current_lr)
        )

    @hookimpl
    def before_step(self, batch):
        self.rows.append(batch.index.tolist())


def prepared(recipe, folder, settings=(), **bad):
    plain = {"output": str(folder), "evaluate.every": 0, **dict(settings)}
    trainer = Trainer(load_config(recipe, plain))
    for name, steps in bad.items():
        setattr(trainer, name, steps)
    watch = Watch()
    trainer.register_hooks([watch])
    return trainer, watch


def equal(one, other):
    return all(torch.equal(value, other[name]) for name, value in one.items())


def test_a_checkpoint_that_is_still_being_written_is_the_last_good_one(
    tiny_recipe, tmp_path, monkeypatch
):
    is_waited_for = threading.Event()
    write, collect = Saving.write, BackgroundWriter.collect

    def write_late(saving):
        is_waited_for.wait(20)
        return write(saving)

    def collect_noted(writer, *, wait=False):
        if wait and writer._pending is not None:
            is_waited_for.set()
        return collect(writer, wait=wait)

    monkeypatch.setattr(Saving, "write", write_late)
    monkeypatch.setattr(BackgroundWriter, "collect", collect_noted)
    settings = {
        "default_hooks": [{"name": "reid-core/checkpoint", "every": None, "every_steps": 3}]
    }
    trainer, _ = prepared(tiny_recipe, tmp_path / "run", settings, bad_losses=(3,))
    with pytest.raises(TrainingError, match=r"The last good checkpoint is .*step_00000003\.pt"):
        trainer.train()


def saved(trainer):
    return sorted(path.name for path in (trainer.folder.path / "nan").glob("*"))


def test_a_loss_that_is_not_finite_ends_the_run_before_the_update(tiny_recipe, tmp_path):
    trainer, watch = prepared(tiny_recipe, tmp_path / "run", bad_losses=(6,))
    with pytest.raises(TrainingError) as caught:
        trainer.train()
    folder = trainer.folder.path
    assert str(caught.value) == (
        "the loss is not finite at step 6 (loss nan; learning rate 0.01); its batch is in "
        f"{folder / 'nan' / 'step_00000006.pt'}. The last good checkpoint is "
        f"{folder / 'checkpoints' / 'step_00000004.pt'}. Try a lower train.optimizer.lr, a longer "
        "warm-up, train.clip_gradients, or train.on_nan=skip for a batch that is bad by itself"
    )
    weights = dict(trainer.model.named_parameters())
    assert equal(weights, watch.steps[-1][1]), "the weights are those of the step before"
    batch = torch.load(folder / "nan" / "step_00000006.pt", weights_only=True)
    assert (batch["step"], batch["epoch"], batch["lr"]) == (6, 1, pytest.approx(0.01))
    assert list(batch["losses"]) == ["tiny_loss"]
    assert batch["losses"]["tiny_loss"] != batch["losses"]["tiny_loss"]
    assert batch["index"].tolist() == watch.rows[6]
    assert batch["images"].shape == (12, 3, 32, 16)
    assert batch["images"].isfinite().all()
    root = trainer.train_manifests[0].root
    paths = [str(root / trainer.train_manifests[0].paths[row]) for row in watch.rows[6]]
    assert batch["paths"] == paths
    assert (
        batch["pids"].tolist()
        == trainer.label_map.labels(trainer.train_manifests)[watch.rows[6]].tolist()
    )
    assert batch["camids"].shape == (12,)
    assert batch["columns"]["requested"].tolist() == watch.rows[6]
    assert batch["columns"]["is_valid"].all()


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_gradient_that_is_not_finite_ends_it_too(tiny_recipe, tmp_path, precision):
    settings = {"train.precision": precision, "train.clip_gradients.limit": 5.0}
    trainer, watch = prepared(tiny_recipe, tmp_path / "run", settings, bad_gradients=(1,))
    tries = {"fp32": "a longer warm-up, or ", "bf16": "a longer warm-up, train.precision=fp32, or "}
    with pytest.raises(TrainingError) as caught:
        trainer.train()
    assert str(caught.value).startswith("a gradient is not finite at step 1 (loss 1.")
    assert (
        f". There is no checkpoint yet. Try a lower train.optimizer.lr, {tries[precision]}train"
        in (str(caught.value))
    )
    assert equal(dict(trainer.model.named_parameters()), watch.steps[0][1])


def test_a_skipped_step_moves_nothing(tiny_recipe, tmp_path, caplog):  # B118
    settings = {"train.on_nan": "skip"}
    bad = {"bad_images": (2,), "bad_gradients": (6,)}
    trainer, watch = prepared(tiny_recipe, tmp_path / "run", settings, **bad)
    with caplog.at_level(logging.WARNING, "reid_core"):
        trainer.train()
    assert [number for number, step in enumerate(watch.steps) if step[0]] == [2, 6]
    for number in (2, 6):
        (_, before, moments, _), (_, skipped, same_moments, _), (_, after, _, _) = watch.steps[
            number - 1 : number + 2
        ]
        assert equal(before, skipped), "weights and batch statistics stay, though images were NaN"
        assert all(map(equal, moments, same_moments))
        assert not equal(skipped, after)
    # Warm-up over 3 steps from 0.1: the rate of the skipped step is used by the next one.
    rates = [step[3] for step in watch.steps[:5]]
    assert rates == pytest.approx([0.001, 0.004, 0.007, 0.007, 0.01])
    assert (trainer.skipped_steps, trainer.steps_done, watch.updates) == (2, 16, 14)
    told = [record.getMessage() for record in caplog.records]
    assert [text.split(" (")[0] for text in told] == [
        "the loss is not finite at step 2",
        "a gradient is not finite at step 6",
    ]
    assert all(text.endswith("; the step is skipped") for text in told)
    assert saved(trainer) == ["step_00000002.pt", "step_00000006.pt"]
    lines = (trainer.folder.path / "metrics.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["skipped_steps"] for row in rows][:4] == [0, 1, 1, 2]
    assert all(row["loss"] == row["loss"] for row in rows), "it is in no mean"


def test_skipping_ends_after_some_steps_in_a_row(tiny_recipe, tmp_path):
    settings = {"train.on_nan": "skip"}
    bad = (0, *range(2, 2 + MAX_SKIPS + 1))
    trainer, _ = prepared(tiny_recipe, tmp_path / "run", settings, bad_losses=bad)
    with pytest.raises(TrainingError, match=rf"at step {bad[-1]} .*; {MAX_SKIPS} steps in a row"):
        trainer.train()
    assert trainer.skipped_steps == 1 + MAX_SKIPS
    assert len(saved(trainer)) == MAX_FILES, "the disk is not filled with batches"


def test_a_resumed_run_has_skipped_what_the_whole_one_has(tiny_recipe, tmp_path):
    settings, bad = {"train.on_nan": "skip", "train.epochs": 2}, (2, 3, 4, 6)
    whole, _ = prepared(tiny_recipe, tmp_path / "whole", settings, bad_losses=bad)
    whole.train()
    cut, _ = prepared(tiny_recipe, tmp_path / "cut", settings, bad_losses=bad)
    cut.train(max_iter=4)
    resumed, _ = prepared(tiny_recipe, tmp_path / "cut", settings, bad_losses=bad)
    resumed.resume_or_load("auto")
    assert resumed.divergence.state_dict() == {"in_a_row": 2, "rollbacks": 0}
    resumed.train()
    assert equal(whole.model.state_dict(), resumed.model.state_dict())
    assert resumed.skipped_steps == whole.skipped_steps == 4


def test_a_rollback_goes_back_to_the_checkpoint_and_on_with_the_next_batch(
    tiny_recipe, tmp_path, caplog
):
    settings = {"train.on_nan": "rollback"}
    trainer, watch = prepared(tiny_recipe, tmp_path / "run", settings, bad_losses=(6,))
    plain, all_rows = prepared(tiny_recipe, tmp_path / "plain", settings)
    with caplog.at_level(logging.WARNING, "reid_core"):
        assert trainer.train().status == "completed"
    plain.train()
    is_skipped, weights, moments, _ = watch.steps[6]
    _, good, good_moments, _ = watch.steps[3]
    assert is_skipped
    assert equal(weights, good)
    assert all(map(equal, moments, good_moments))
    assert watch.rows == all_rows.rows, "no batch is met twice"
    # Of 7 steps 4 are in the weights: the milestone at step 8 is met 3 steps later.
    assert trainer.skipped_steps == 3
    assert [step[3] for step in watch.steps[7:12]] == pytest.approx([0.01] * 4 + [0.001])
    (told,) = [record.getMessage() for record in caplog.records]
    path = trainer.folder.path / "checkpoints" / "step_00000004.pt"
    assert told.endswith(
        f"step_00000006.pt; weights, optimizer and hooks are back at {path}, and training goes on "
        "with the next batch (1 of 3 times)"
    )


def test_a_rollback_gives_hooks_and_averages_their_state_back(tiny_recipe, tmp_path):
    class Counter:
        count = 0

        @hookimpl
        def after_step(self, trainer, step):
            self.count += 1
            if step == 4:
                # As swa does, whose first average comes after the checkpoint.
                trainer.eval_model = type(self).other

        def state_dict(self):
            return {"count": self.count}

        def load_state_dict(self, state):
            self.count = state["count"]

    trainer, _ = prepared(
        tiny_recipe, tmp_path / "run", {"train.on_nan": "rollback"}, bad_losses=(6,)
    )
    Counter.other = trainer.build_model()
    counter = Counter()
    trainer.register_hooks([counter])
    trainer.train(max_iter=8)
    assert counter.count == 4 + 2
    assert trainer.eval_model is trainer.model


def test_rollbacks_end_after_some_times(tiny_recipe, tmp_path):
    bad = tuple(range(4, 5 + MAX_ROLLBACKS))
    trainer, _ = prepared(
        tiny_recipe, tmp_path / "run", {"train.on_nan": "rollback"}, bad_losses=bad
    )
    with pytest.raises(TrainingError, match=rf"step {bad[-1]} .* gone back {MAX_ROLLBACKS} times"):
        trainer.train()


def test_without_a_checkpoint_there_is_no_way_back(tiny_recipe, tmp_path):
    trainer, _ = prepared(
        tiny_recipe, tmp_path / "run", {"train.on_nan": "rollback"}, bad_losses=(2,)
    )
    with pytest.raises(TrainingError, match=r"at step 2 .*finds no checkpoint .* by every_steps"):
        trainer.train()


def test_a_deferred_look_finds_it_one_step_later(tiny_recipe, tmp_path):
    settings = {"train.log_every": 10}
    trainer, watch = prepared(tiny_recipe, tmp_path / "run", settings, bad_gradients=(1,))
    trainer.divergence.__init__("stop", is_deferred=True, log_every=10)
    with pytest.raises(TrainingError, match="a gradient is not finite at step 1 "):
        trainer.train()
    assert len(watch.steps) == 2, "it is told in the step after"
    assert saved(trainer) == ["step_00000001.pt"]
    batch = torch.load(trainer.folder.path / "nan" / "step_00000001.pt", weights_only=True)
    assert batch["index"].tolist() == watch.rows[1]


@pytest.mark.parametrize(("bad", "log_every"), [(3, 100), (1, 2)])
def test_a_deferred_look_comes_before_rows_and_checkpoints(tiny_recipe, tmp_path, bad, log_every):
    settings = {"train.log_every": log_every}
    trainer, _watch = prepared(tiny_recipe, tmp_path / "run", settings, bad_losses=(bad,))
    trainer.divergence.__init__("stop", is_deferred=True, log_every=log_every)
    with pytest.raises(
        TrainingError, match=rf"loss is not finite at step {bad} .* its batch is in"
    ):
        trainer.train()
    assert not list(trainer.folder.path.glob("checkpoints/*"))


def test_a_deferred_look_refuses_a_state(tiny_recipe, tmp_path):
    trainer, _ = prepared(tiny_recipe, tmp_path / "run", bad_gradients=(0,))
    trainer.divergence.__init__("stop", is_deferred=True, log_every=10)
    trainer.claim_folder()
    trainer.run_step(next(iter(trainer.batches(0, 0))))
    with pytest.raises(TrainingError, match="a gradient is not finite at step 0"):
        trainer.state_dict()


class ScalingTrainer(Trainer):
    def build_loss_scaler(self):
        return LossScaler(self.device, scale=2.0**-23)


@pytest.mark.parametrize("mode", ["stop", "rollback"])
def test_a_scaler_that_gives_up_is_a_divergence(tiny_recipe, tmp_path, mode):
    plain = {"output": str(tmp_path / "run"), "evaluate.every": 0, "train.on_nan": mode}
    trainer = ScalingTrainer(load_config(tiny_recipe, plain))
    trainer.bad_losses = (5, 6)
    if mode == "rollback":
        assert trainer.train().status == "completed"
        assert trainer.skipped_steps == 3, "step 5 was the scaler's, step 6 went back to step 4"
    else:
        with pytest.raises(
            TrainingError, match=r"step 6 \(learning rate 0.01\): gradients .* whatever scale"
        ):
            trainer.train()
    assert saved(trainer) == ["step_00000006.pt"]


def test_a_batch_that_cannot_be_saved_does_not_hide_the_loss(tiny_recipe, tmp_path):
    trainer, _ = prepared(tiny_recipe, tmp_path / "run", bad_losses=(0,))
    trainer.claim_folder()
    (trainer.folder.path / "nan").write_text("a file in the way")
    with pytest.raises(TrainingError, match=r"not finite at step 0 .*could not be saved: .*nan"):
        trainer.train()


def test_buffers_are_copied_to_skip_alone():
    watch = DivergenceWatch("stop")
    watch.before_gradients(torch.nn.BatchNorm1d(3))
    assert watch._buffers is None
    watch = DivergenceWatch("skip")
    watch.before_gradients(torch.nn.BatchNorm1d(3))
    assert watch._buffers is not None
