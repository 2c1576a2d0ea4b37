from __future__ import annotations

import json
import math
import shutil

import numpy as np
import pytest
import torch

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer, Interrupted, StepResult
from reid_core.engine.meter import Meter
from reid_core.engine.record.run_folder import RunFolder
from reid_core.engine.resuming.resume import folder_to_resume
from reid_core.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    PluginError,
    TrainingError,
    UsageError,
)
from reid_core.hookspecs import hookimpl
from reid_core.testing import write_tiny_market


def trained(config, hooks=()):
    trainer = DefaultTrainer(config)
    trainer.resume_or_load()
    trainer.register_hooks(list(hooks))
    trainer.train()
    return trainer


def weights(trainer):
    return {name: value.clone() for name, value in trainer.model.state_dict().items()}


def rows(trainer):
    path = trainer.folder.path / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_run_leaves_the_promised_folder(tiny_config):
    trainer = trained(tiny_config)
    folder = trainer.folder.path
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert names >= {
        "config.yaml",
        "components.json",
        "env.json",
        "metrics.jsonl",
        "results.json",
        "ranks.json",
        "report.html",
        "status.json",
        "checkpoints/step_00000016.pt",
        "checkpoints/best.pt",
        "weights/last.safetensors",
        "weights/best.safetensors",
    }
    assert len(trainer.folder.checkpoints.paths()) == 2, "older checkpoints are dropped"
    assert json.loads((folder / "status.json").read_text())["state"] == "completed"
    results = json.loads((folder / "results.json").read_text())
    assert [e["step"] for e in results["evaluations"]] == [8, 16]
    assert results["evaluations"][0]["protocol"] == "market1501"
    assert results["evaluations"][0]["distance"] == "cosine"
    assert results["outcome"] == "completed"
    components = json.loads((folder / "components.json").read_text())
    assert {"kind": "samplers", "name": "identity", "dist": "reid-core"}.items() <= next(
        c for c in components if c["kind"] == "samplers"
    ).items()
    assert not list(folder.rglob("*.tmp"))


def test_training_learns_something(tiny_recipe, tmp_path):
    overrides = {
        "train.schedule": {"name": "constant"},
        "epochs": 60,
        "data.transforms": [],
        "default_hooks": ["lr_schedule", "metric_log"],
    }
    config = load_config(
        tiny_recipe, {**overrides, "output": str(tmp_path / "run"), "optimizer.lr": 0.03}
    )
    losses = [row["loss"] for row in rows(trained(config)) if "loss" in row]
    chance = math.log(6)  # the cross entropy of a guess among 6 identities
    assert losses[-1] < 0.4 * chance


def test_the_logged_learning_rate_is_warm_up_then_milestone(tiny_config):
    trainer = trained(tiny_config)
    rates = {row["step"]: row["lr"] for row in rows(trainer) if "lr" in row}
    # The row of step n holds the rate of the last step done, n - 1.
    assert rates[2] == pytest.approx(0.01 * (0.1 + 0.9 / 3))
    assert rates[4] == pytest.approx(0.01)
    assert rates[8] == pytest.approx(0.01)
    assert rates[10] == pytest.approx(0.001)


@pytest.mark.parametrize("stop", [1, 4, 6, 8, 15])
def test_a_run_that_was_stopped_and_resumed_equals_the_uninterrupted_one(
    tiny_recipe, tmp_path, stop, stop_after
):
    overrides = {
        "model.backbone.dropout": 0.3,  # so that the random state of torch matters
        "output": str(tmp_path / "whole"),
    }
    whole = trained(load_config(tiny_recipe, overrides))
    overrides["output"] = str(tmp_path / "broken")
    config = load_config(tiny_recipe, overrides)
    with pytest.raises(Interrupted):
        trained(config, [stop_after(stop)])
    torch.manual_seed(12345)  # whatever this process did in between
    resumed = DefaultTrainer(config)
    resumed.resume_or_load("auto")
    assert resumed.start_iter == stop
    resumed.train()
    assert resumed.iter == whole.iter == 16
    for name, value in weights(whole).items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name
    ours, theirs = rows(resumed), rows(whole)
    for row in (*ours, *theirs):
        for key in ("time/step", "time/data"):
            row.pop(key, None)
    evaluations = [[r for r in table if "loss" not in r] for table in (ours, theirs)]
    assert evaluations[0] == evaluations[1]
    assert ours[-2:] == theirs[-2:], "the last rows of the log are the same"
    assert resumed.results.best == whole.results.best


def test_resuming_a_finished_run_ends_cleanly(tiny_config):
    first = trained(tiny_config)
    again = DefaultTrainer(tiny_config)
    again.resume_or_load("auto")
    assert again.train().status == "completed"
    assert again.iter == 16
    assert rows(again) == rows(first)
    assert again.results.latest() == first.results.latest()


def test_a_run_is_never_overwritten(tiny_config):
    trained(tiny_config)
    with pytest.raises(UsageError, match="holds a run already; go on with it by --resume"):
        trained(tiny_config)


def test_resume_auto_starts_anew_where_no_checkpoint_was_written(tiny_config, caplog):
    caplog.set_level("INFO")
    trainer = DefaultTrainer(tiny_config)
    trainer.resume_or_load("auto")
    assert "starting anew" in caplog.text
    assert trainer.start_iter == 0


def test_resume_falls_back_to_the_last_good_checkpoint_and_says_so(tiny_config, caplog):
    first = trained(tiny_config)
    newest, before = first.folder.checkpoints.paths()
    newest.write_bytes(newest.read_bytes()[:1000])
    again = DefaultTrainer(tiny_config)
    again.resume_or_load("auto")
    assert again.start_iter == 12
    assert f"{newest} is damaged" in caplog.text
    before.write_bytes(b"")
    told = r"(?s)no checkpoint is whole.*empty \(0 bytes\)"
    with pytest.raises(CheckpointError, match=told) as caught:
        DefaultTrainer(tiny_config).resume_or_load("auto")
    weights = first.folder.path / "weights" / "last.safetensors"
    assert f"--init-from {weights}, and another --output" in str(caught.value)
    weights.unlink()
    best = weights.with_name("best.safetensors")
    with pytest.raises(CheckpointError, match=f"--init-from {best}"):
        DefaultTrainer(tiny_config).resume_or_load("auto")
    best.unlink()
    with pytest.raises(CheckpointError, match=r"put a copy of one back, or begin a new run$"):
        DefaultTrainer(tiny_config).resume_or_load("auto")


def test_resume_takes_a_checkpoint_a_folder_or_the_best(tiny_config, tmp_path):
    first = trained(tiny_config)
    other = tiny_config.with_output(str(tmp_path / "other"))
    best = first.folder.path / "checkpoints" / "best.pt"
    for path, step in ((first.folder.path, 16), (best, first.results.best.step)):
        trainer = DefaultTrainer(other)
        trainer.resume_or_load(path)
        assert trainer.start_iter == step
    with pytest.raises(CheckpointError, match=r"did you mean .*best.pt"):
        trainer.resume_or_load(first.folder.path / "checkpoints" / "bst.pt")
    with pytest.raises(CheckpointError, match="holds weights, not the state of a run"):
        trainer.resume_or_load(first.folder.path / "weights" / "best.safetensors")


def test_the_folder_of_a_resumed_run_is_its_own(tiny_config, tiny_recipe, tmp_path, monkeypatch):
    first = trained(tiny_config)
    unnamed = load_config(tiny_recipe)
    checkpoint = first.folder.path / "checkpoints" / "best.pt"
    assert folder_to_resume(unnamed, str(checkpoint)).path == first.folder.path
    assert folder_to_resume(unnamed, str(first.folder.path)).path == first.folder.path
    monkeypatch.chdir(tmp_path)
    fresh = folder_to_resume(unnamed, "auto").path
    assert fresh.parent.as_posix() == "runs/tiny"
    (fresh / "checkpoints").mkdir(parents=True)
    (fresh / "checkpoints" / "step_00000004.pt").write_bytes(b"x")
    assert folder_to_resume(unnamed, "auto").path == fresh


def test_resume_with_other_identities_or_batches_is_refused(tiny_config, tiny_recipe, tmp_path):
    first = trained(tiny_config)
    smaller = load_config(tiny_recipe, {"data.batch.identities": 2})
    with pytest.raises(CheckpointError, match="epochs had 4 steps, now one has 6"):
        DefaultTrainer(smaller).resume_or_load(first.folder.path, changes="use")
    root = tmp_path / "fewer"
    shutil.copytree(tiny_config.data.train[0].parameters["root"], root)
    for path in (root / "bounding_box_train").glob("0001_*"):
        path.unlink()
    fewer = load_config(tiny_recipe, {"data.train": [{"name": "market1501", "root": str(root)}]})
    with pytest.raises(CheckpointError, match="trained on other identities"):
        DefaultTrainer(fewer).resume_or_load(first.folder.path, changes="use")


def test_a_changed_setting_is_said_and_used_on_resume(tiny_config, tiny_recipe, caplog):
    first = trained(tiny_config)
    changed = load_config(
        tiny_recipe, {"output": tiny_config.output, "optimizer.lr": 0.02, "epochs": 5}
    )
    again = DefaultTrainer(changed)
    again.resume_or_load("auto", changes="use")
    assert "train.optimizer.lr is 0.02 now, was 0.01 in the checkpoint" in caplog.text
    assert "train.epochs is 5 now, was 4 in the checkpoint" in caplog.text
    assert again.optimizer.param_groups[0]["initial_lr"] == 0.02
    again.train()
    assert again.iter == 20
    assert first.iter == 16


def test_evaluation_may_be_off(tiny_recipe, tmp_path):
    config = load_config(
        tiny_recipe, {"output": str(tmp_path / "run"), "evaluate.every": 0, "epochs": 1}
    )
    trainer = trained(config)
    assert trainer.results.evaluations == []
    assert (trainer.folder.path / "report.html").is_file()
    assert not (trainer.folder.path / "weights" / "best.safetensors").exists()


def test_without_default_hooks_nothing_is_saved_but_training_runs(tiny_recipe, tmp_path):
    config = load_config(
        tiny_recipe, {"output": str(tmp_path / "run"), "default_hooks": [], "epochs": 1}
    )
    trainer = trained(config)
    assert trainer.iter == 4
    assert not (trainer.folder.path / "checkpoints").exists()


def test_a_failing_hook_keeps_the_last_checkpoint_and_marks_the_run(tiny_config):
    class Fails:
        @hookimpl
        def after_step(self, step):
            if step == 6:
                raise OSError("the tracker is gone")

    trainer = DefaultTrainer(tiny_config)
    trainer.resume_or_load()
    trainer.register_hooks([Fails()])
    with pytest.raises(OSError, match="the tracker is gone"):
        trainer.train()
    status = json.loads((trainer.folder.path / "status.json").read_text())
    assert status["state"] == "failed"
    assert "the tracker is gone" in status["reason"]
    assert [p.name for p in trainer.folder.checkpoints.paths()] == ["step_00000004.pt"]
    assert (trainer.folder.path / "report.html").is_file()


def test_a_loss_that_is_not_finite_names_its_step_and_saves_nothing_of_it(tiny_config):
    trainer = DefaultTrainer(tiny_config)
    trainer.resume_or_load()

    class Poison:
        @hookimpl
        def before_step(self, trainer, step):
            if step == 6:
                with torch.no_grad():
                    trainer.model.head.classifier.weight.fill_(float("nan"))

    trainer.register_hooks([Poison()])
    with pytest.raises(TrainingError, match=r"not finite at step 6 \(loss nan; learning rate 0.01"):
        trainer.train()
    for path in trainer.folder.checkpoints.paths():
        state = torch.load(path, weights_only=True)["model"]
        assert all(torch.isfinite(value).all() for value in state.values()), path


def test_problems_of_data_and_parameters_come_before_the_first_step(tiny_recipe, tmp_path):
    def build(**overrides):
        dotted = {key.replace("__", "."): value for key, value in overrides.items()}
        DefaultTrainer(load_config(tiny_recipe, dotted))

    with pytest.raises(DataError, match="needs 9 identities, the training data has 6"):
        build(data__batch__identities=9)
    with pytest.raises(ConfigError, match=r"data.batch.size 22 is not a multiple.*20 or 24"):
        build(data__batch={"sampler": "identity", "identities": None, "size": 22})
    with pytest.raises(ConfigError, match="0 batches per epoch"):
        build(data__batch={"sampler": "random", "size": 640})
    with pytest.raises(ConfigError, match="unknown parameter; did you mean dropout"):
        build(model__backbone__droput=0.1)
    with pytest.raises(ConfigError, match="warmup lasts 99 steps, the whole run only 16"):
        build(train__schedule__warmup__steps=99)
    assert not (tmp_path / "runs").exists()


def test_the_label_map_and_positions_are_in_the_checkpoint(tiny_config, stop_after):
    with pytest.raises(Interrupted):
        trained(tiny_config, [stop_after(6)])
    path = DefaultTrainer(tiny_config).folder.checkpoints.paths()[0]
    state = torch.load(path, weights_only=True)
    assert state["label_map"] == [{"dataset": "market1501", "pids": [1, 2, 3, 4, 5, 6]}]
    assert state["step"] == 6
    assert state["epoch"] == 1
    assert state["sampler"] == {"epoch": 1, "batch": 2}
    assert state["config"]["train"]["epochs"] == 4
    assert {c["kind"] for c in state["components"]} >= {"models", "datasets", "hooks"}


def test_bf16_trains_too(tiny_recipe, tmp_path):
    config = load_config(
        tiny_recipe, {"output": str(tmp_path / "run"), "precision": "bf16", "epochs": 1}
    )
    trainer = trained(config)
    assert all(value.dtype == torch.float32 for value in trainer.model.parameters())


def test_builders_can_be_overridden(tiny_config):
    class Mine(DefaultTrainer):
        def build_optimizer(self, model):
            return torch.optim.SGD([{"params": model.parameters(), "initial_lr": 0.5}], lr=0.5)

    trainer = Mine(tiny_config)
    assert isinstance(trainer.optimizer, torch.optim.SGD)
    trainer.train(0, 2)
    assert trainer.iter == 2


def test_a_step_that_is_in_no_row_yet_is_checked_before_it_is_saved(tiny_config):
    class PoisonThenStop:
        @hookimpl
        def after_step(self, trainer, step):
            if step == 4:
                loss = torch.tensor(float("inf"))
                trainer.meter.after_step(trainer, step, StepResult(loss, {"a": loss}))
                trainer.request_stop(15)

    trainer = DefaultTrainer(tiny_config)
    trainer.resume_or_load()
    trainer.register_hooks([PoisonThenStop()])
    trainer.meter._log_every = 100
    with pytest.raises(Interrupted):
        trainer.train()
    assert [p.name for p in trainer.folder.checkpoints.paths()] == ["step_00000004.pt"]


def test_channels_last_gives_the_same_numbers(tiny_recipe, tmp_path):
    losses = []
    for is_last in (False, True):
        config = load_config(
            tiny_recipe,
            {"output": str(tmp_path / str(is_last)), "channels_last": is_last, "epochs": 1},
        )
        trainer = trained(config)
        is_in_layout = trainer.model.backbone.conv.weight.is_contiguous(
            memory_format=torch.channels_last
        )
        assert is_in_layout is is_last
        losses.append([row["loss"] for row in rows(trainer) if "loss" in row])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_the_untrained_model_is_measured_but_never_the_best(tiny_recipe, tmp_path):
    overrides = {"evaluate.at_start": True, "optimizer.lr": 1e-9, "output": str(tmp_path / "run")}
    trainer = trained(load_config(tiny_recipe, overrides))
    assert trainer.results.evaluations[0].step == 0
    assert rows(trainer)[0].keys() >= {"step", "market1501/mAP"}, "it is in the log too"
    assert trainer.results.best.step > 0


def test_what_led_up_to_a_failure_is_in_the_log(tiny_config):
    class Fails:
        @hookimpl
        def after_step(self, step):
            if step == 4:
                raise RuntimeError("boom")

    trainer = DefaultTrainer(tiny_config)
    trainer.resume_or_load()
    trainer.register_hooks([Fails()])
    with pytest.raises(RuntimeError, match="boom"):
        trainer.train()
    assert [row["step"] for row in rows(trainer) if "loss" in row] == [2, 4, 5]


def test_going_on_from_an_older_checkpoint_keeps_the_new_ones_and_sets_later_ones_aside(
    tiny_config, caplog, stop_after
):
    first = trained(tiny_config)
    old = first.folder.path / "checkpoints" / "old.pt"
    torch.save(torch.load(first.folder.checkpoints.paths()[1], weights_only=True), old)
    again = DefaultTrainer(tiny_config)
    again.resume_or_load(old)
    assert again.start_iter == 12
    again.register_hooks([stop_after(14)])
    with pytest.raises(Interrupted):
        again.train()
    assert "checkpoint of a later step set aside" in caplog.text
    names = [path.name for path in again.folder.checkpoints.paths()]
    assert names == ["step_00000014.pt", "step_00000012.pt"]
    assert (first.folder.path / "checkpoints" / "set_aside" / "step_00000016.pt").is_file()
    resumed = DefaultTrainer(tiny_config)
    resumed.resume_or_load("auto")
    assert resumed.start_iter == 14


def test_training_without_asking_for_a_resume_never_touches_an_old_run(tiny_config):
    first = trained(tiny_config)
    before = rows(first)
    with pytest.raises(UsageError, match="holds a run already"):
        DefaultTrainer(tiny_config).train()
    assert rows(first) == before


def test_resuming_one_run_into_the_folder_of_another_is_refused(tiny_config, tmp_path):
    first = trained(tiny_config)
    other = tiny_config.with_output(str(tmp_path / "other"))
    trained(other)
    with pytest.raises(UsageError, match="other holds a run already"):
        DefaultTrainer(other).resume_or_load(first.folder.path)


def test_a_folder_without_a_checkpoint_cannot_be_resumed_by_its_path(tiny_config, tmp_path):
    with pytest.raises(CheckpointError, match="leave --resume out to start anew"):
        DefaultTrainer(tiny_config).resume_or_load(tmp_path)


def test_two_runs_started_in_one_second_get_two_folders(tiny_recipe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = load_config(tiny_recipe, {"evaluate.every": 0})
    folders = [RunFolder.for_config(config) for _ in range(3)]
    for folder in folders:
        folder.path = folders[0].path
    for folder in folders:
        folder.claim()
    assert len({folder.path for folder in folders}) == 3


def test_a_status_that_cannot_be_written_never_hides_what_ended_the_run(tiny_config):
    outcomes = []

    class BreaksTheFolder:
        @hookimpl
        def after_step(self, trainer, step):
            shutil.rmtree(trainer.folder.path)
            trainer.folder.path.write_text("a file")
            raise ValueError("the original")

        @hookimpl
        def after_train(self, outcome):
            outcomes.append(outcome.status)

    trainer = DefaultTrainer(tiny_config)
    trainer.register_hooks([BreaksTheFolder()])
    with pytest.raises(ValueError, match="the original"):
        trainer.train()
    assert outcomes == ["failed"]


def test_a_hook_that_fails_at_the_end_is_in_the_status(tiny_config):
    class Fails:
        @hookimpl
        def after_train(self):
            raise OSError("no report")

    trainer = DefaultTrainer(tiny_config)
    trainer.register_hooks([Fails()])
    with pytest.raises(OSError, match="no report"):
        trainer.train()
    assert json.loads((trainer.folder.path / "status.json").read_text())["state"] == "failed"


def test_a_model_left_in_evaluation_mode_is_said(tiny_config):
    class Forgets:
        @hookimpl
        def before_train(self, trainer):
            trainer.model.eval()

    trainer = DefaultTrainer(tiny_config)
    trainer.register_hooks([Forgets()])
    with pytest.raises(TrainingError, match="the model is in evaluation mode"):
        trainer.train()


def test_an_evaluation_cut_short_between_two_test_sets_is_done_again_whole(
    tiny_recipe, tiny_market, tmp_path
):
    other = write_tiny_market(tmp_path / "other", train_identities=7)
    sets = [{"name": "market1501", "root": str(root)} for root in (tiny_market, other)]
    config = load_config(tiny_recipe, {"output": str(tmp_path / "run"), "data.test": sets})

    class StopBetween:
        @hookimpl
        def after_eval(self, trainer, name):
            if name == "market1501" and trainer.iter == 8:
                trainer.request_stop(15)

    trainer = DefaultTrainer(config)
    trainer.register_hooks([StopBetween()])
    with pytest.raises(Interrupted):
        trainer.train()
    resumed = DefaultTrainer(config)
    resumed.resume_or_load("auto")
    resumed.train()
    found = [(e.dataset, e.step) for e in resumed.results.evaluations]
    expected = [(name, step) for step in (8, 16) for name in ("market1501", "market1501-2")]
    assert found == expected
    logged = [row["step"] for row in rows(resumed) if "market1501/mAP" in row]
    assert logged == [8, 16], "no evaluation is in the log twice"


def test_hook_state_that_could_not_be_loaded_again_is_refused_when_it_is_saved(tiny_config):
    class Stateful:
        @hookimpl
        def before_epoch(self):
            pass

        def state_dict(self):
            return {"values": [np.float64(1)]}

        def load_state_dict(self, state):
            pass

    trainer = DefaultTrainer(tiny_config)
    trainer.register_hooks([Stateful()])
    with pytest.raises(PluginError, match=r"hook 'Stateful' .*, entry 'values' holds a numpy"):
        trainer.train()
    assert trainer.iter == 1, "it is found after the first step, not with the first checkpoint"


def test_numbers_that_only_some_steps_have_are_averaged_over_those(tiny_config):
    trainer = DefaultTrainer(tiny_config)
    meter = Meter(log_every=3)
    logged = []
    trainer.log_scalars = lambda step, scalars: logged.append((step, scalars))
    one, two = torch.tensor(1.0), torch.tensor(2.0)
    meter.after_step(trainer, 0, StepResult(one, metrics={"a": one}))
    meter.after_step(trainer, 1, StepResult(two, metrics={"b": torch.tensor(5.0)}))
    meter.after_step(trainer, 2, StepResult(two, metrics={"a": two}))
    ((step, scalars),) = logged
    assert step == 3
    assert (scalars["a"], scalars["b"]) == (1.5, 5.0)
    assert scalars["loss"] == pytest.approx(5 / 3)
