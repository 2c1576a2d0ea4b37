from __future__ import annotations

import json
import math

import pytest
import torch

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer, Interrupted, StepResult
from reid_core.engine.default_trainer import folder_to_resume
from reid_core.errors import CheckpointError, ConfigError, DataError, TrainingError, UsageError
from reid_core.hookspecs import hookimpl


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


class StopAfter:
    """Asks for a stop, as SIGTERM does, after a number of steps."""

    def __init__(self, steps):
        self.steps = steps

    @hookimpl
    def after_step(self, trainer, step):
        if step + 1 == self.steps:
            trainer.request_stop(15)


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
    tiny_recipe, tmp_path, stop
):
    overrides = {
        "model.backbone.dropout": 0.3,  # so that the random state of torch matters
        "output": str(tmp_path / "whole"),
    }
    whole = trained(load_config(tiny_recipe, overrides))
    overrides["output"] = str(tmp_path / "broken")
    config = load_config(tiny_recipe, overrides)
    with pytest.raises(Interrupted):
        trained(config, [StopAfter(stop)])
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
    with pytest.raises(CheckpointError, match=r"(?s)no checkpoint is whole.*empty \(0 bytes\)"):
        DefaultTrainer(tiny_config).resume_or_load("auto")


def test_resume_takes_a_checkpoint_a_folder_or_the_best(tiny_config, tmp_path):
    first = trained(tiny_config)
    other = tiny_config.with_output(str(tmp_path / "other"))
    for path in (first.folder.path, first.folder.path / "checkpoints" / "best.pt"):
        trainer = DefaultTrainer(other)
        trainer.resume_or_load(path)
        assert trainer.start_iter in (8, 16)
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
        DefaultTrainer(smaller).resume_or_load(first.folder.path)
    import shutil

    root = tmp_path / "fewer"
    shutil.copytree(tiny_config.data.train[0].parameters["root"], root)
    for path in (root / "bounding_box_train").glob("0001_*"):
        path.unlink()
    fewer = load_config(tiny_recipe, {"data.train": [{"name": "market1501", "root": str(root)}]})
    with pytest.raises(CheckpointError, match="trained on other identities"):
        DefaultTrainer(fewer).resume_or_load(first.folder.path)


def test_a_changed_setting_is_said_and_used_on_resume(tiny_config, tiny_recipe, caplog):
    first = trained(tiny_config)
    changed = load_config(
        tiny_recipe, {"output": tiny_config.output, "optimizer.lr": 0.02, "epochs": 5}
    )
    again = DefaultTrainer(changed)
    again.resume_or_load("auto")
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


def test_the_label_map_and_positions_are_in_the_checkpoint(tiny_config):
    with pytest.raises(Interrupted):
        trained(tiny_config, [StopAfter(6)])
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
