from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest


def test_train_evaluate_and_resume_a_finished_run(run, small_osnet, tmp_path):
    first = run("reid-train", *small_osnet, "--output", "mine")
    assert first.returncode == 0, first.stderr
    assert "(protocol market1501, cosine distance" in first.stdout
    assert "after 0 steps ->" in first.stdout
    report = first.stdout.rpartition("report ")[2].strip()
    assert Path(report).is_file()
    log = (tmp_path / "mine" / "train.log").read_text()
    assert "training: 6 identities" in log
    assert "training completed" in log

    again = run("reid-train", *small_osnet, "--output", "mine")
    assert again.returncode == 2
    assert "holds a run already; go on with it by --resume" in again.stderr

    resumed = run("reid-train", "--resume", "mine")
    assert resumed.returncode == 0, resumed.stderr
    assert "resumed from" in resumed.stderr

    evaluated = run("reid-eval", "--checkpoint", "mine/weights/last.safetensors", "--json")
    assert evaluated.returncode == 0, evaluated.stderr
    numbers = json.loads(evaluated.stdout)["evaluations"][0]
    results = json.loads((tmp_path / "mine" / "results.json").read_text())
    expected = results["evaluations"][-1]
    assert numbers["metrics"] == pytest.approx(expected["metrics"], abs=1e-6)
    assert numbers["protocol"] == "market1501"
    assert "the classifier is not used" not in evaluated.stdout, "JSON only on standard output"


@pytest.mark.parametrize("whom", ["process", "group"])
def test_sigterm_writes_a_checkpoint_and_resuming_reaches_the_same_steps(
    bin_dir, run, small_osnet, tmp_path, whom
):
    # A scheduler signals the whole group: the loader's workers too.
    options = [*small_osnet, "--set", "epochs=40", "--set", "evaluate.every=40"]
    options += ["--set", f"data.workers={2 if whom == 'group' else 0}"]
    process = subprocess.Popen(
        [str(bin_dir / "reid-train"), *options, "--output", "mine"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    log = tmp_path / "mine" / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not log.exists() or '"loss"' not in log.read_text()):
        time.sleep(0.05)
    if whom == "group":
        os.killpg(process.pid, signal.SIGTERM)
    else:
        process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 143, output
    assert "SIGTERM: finishing the step and saving" in output
    status = json.loads((tmp_path / "mine" / "status.json").read_text())
    assert status["state"] == "interrupted"
    assert 0 < status["step"] < 160
    assert (tmp_path / "mine" / "checkpoints" / f"step_{status['step']:08d}.pt").is_file()

    resumed = run("reid-train", *options, "--output", "mine", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert f"after step {status['step']}" in resumed.stderr
    final = json.loads((tmp_path / "mine" / "status.json").read_text())
    assert (final["state"], final["step"], final["max_step"]) == ("completed", 160, 160)
    steps = [json.loads(line)["step"] for line in log.read_text().splitlines() if '"loss"' in line]
    assert steps == sorted(set(steps)), "no step is logged twice"
    assert steps[-1] == 160


def test_check_does_everything_up_to_the_first_step_and_writes_nothing(run, small_osnet, tmp_path):
    checked = run("reid-train", *small_osnet, "--output", "mine", "--check")
    assert checked.returncode == 0, checked.stderr
    assert "all 80 images can be read" in checked.stderr
    assert "first batch: images (12, 3, 64, 32)" in checked.stderr
    assert "12 steps in 3 epochs" in checked.stdout
    assert not (tmp_path / "mine").exists()


def test_check_lists_every_broken_image(run, small_osnet, tiny_market, tmp_path):
    import shutil

    root = tmp_path / "broken"
    shutil.copytree(tiny_market, root)
    (root / "query" / "0007_c1s1_000000_00.png").write_bytes(b"")
    (root / "bounding_box_train" / "0001_c1s1_000000_00.png").write_bytes(b"no image")
    options = [*small_osnet, "--set", f"data.train={{name: market1501, root: '{root.as_posix()}'}}"]
    checked = run("reid-train", *options, "--check")
    assert checked.returncode == 3
    assert "2 of 80 images are broken" in checked.stderr
    assert "0007_c1s1_000000_00.png is empty (0 bytes)" in checked.stderr
    assert "0001_c1s1_000000_00.png is broken" in checked.stderr
    failed = run("reid-train", *options, "--output", "fails")
    assert failed.returncode == 3
    assert "set data.broken_images=skip" in failed.stderr
    skipped = run("reid-train", *options, "--set", "data.broken_images=skip", "--output", "skips")
    assert skipped.returncode == 0, skipped.stderr
    assert "replaced by another of its identity" in skipped.stderr
    assert "1 broken image left out" in skipped.stderr


def test_evaluation_states_where_its_weights_come_from(run, small_osnet):
    trained = run("reid-train", *small_osnet, "--output", "mine")
    assert trained.returncode == 0, trained.stderr
    evaluated = run("reid-train", *small_osnet, "--eval-only", "--resume", "mine")
    assert evaluated.returncode == 0, evaluated.stderr
    assert "mAP" in evaluated.stdout
    assert "loaded 100.0% of the parameters" in evaluated.stderr
    assert "is not used for embedding" in evaluated.stderr
    assert "trained with" not in evaluated.stderr

    other_size = [*small_osnet, "--set", "data.image_size=[32, 32]"]
    warned = run("reid-train", *other_size, "--eval-only", "--resume", "mine")
    assert warned.returncode == 0, warned.stderr
    assert "data.image_size.0 is 32, the weights were trained with 64" in warned.stderr

    for file, label in (("weights/last.safetensors", "last"), ("checkpoints/best.pt", "best")):
        answered = run("reid-eval", "--checkpoint", f"mine/{file}", "--json")
        evaluation = json.loads(answered.stdout)["evaluations"][0]
        assert evaluation["weights"] == label
        assert evaluation["step"] == pytest.approx(4 * evaluation["epoch"])
        assert evaluation["step"] > 0

    untrained = run("reid-train", *small_osnet, "--eval-only")
    assert untrained.returncode == 0, untrained.stderr
    assert "an untrained model is evaluated" in untrained.stderr


def test_released_weights_of_a_backbone_are_evaluated(run, small_osnet, shared_data):
    weights = shared_data / "weights" / "osnet_x0_25_msmt17_torchreid.pth"
    nameless = run("reid-eval", "--checkpoint", weights)
    assert nameless.returncode == 1
    assert "name a recipe by --config" in nameless.stderr
    evaluated = run("reid-eval", "--checkpoint", weights, *small_osnet)
    assert evaluated.returncode == 0, evaluated.stderr
    assert "holds a backbone alone" in evaluated.stderr
    assert "loaded 100.0% of the parameters" in evaluated.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "--config is missing"),
        (["--resume", "nothing"], 2, "there is no such run folder or checkpoint"),
        (["--config", "osnet/osnet_x025"], 2, "did you mean osnet/osnet_x0_25"),
        (["--config", "nowhere.yaml"], 2, "recipe nowhere.yaml not found"),
        (["osnet/osnet_x0_25"], 2, "--config osnet/osnet_x0_25"),
        (["--config", "osnet/osnet_x0_25", "MODEL.DEVICE", "cpu"], 2, "--set key=value"),
        (
            ["--config", "osnet/osnet_x0_25", "--set", "epochs=1"],
            2,
            "--set train.schedule.warmup=null",
        ),
        (["--config", "osnet/osnet_x0_25", "--set", "data.image_size=0"], 2, "[height, width]"),
        (["--config", "osnet/osnet_x0_25", "--set", "epochs"], 2, "expected key=value"),
        (["--config", "osnet/osnet_x0_25", "--set", "epoch=3"], 2, "did you mean"),
        (
            ["--config", "osnet/osnet_x0_25", "--set", "model.backbone.name=osnet_x0_2"],
            4,
            "did you mean osnet_x0_25",
        ),
        (
            ["--config", "osnet/osnet_x0_25", "--set", "data.train={name: market1501, root: /no}"],
            3,
            "there is no folder /no",
        ),
        (["--config", "osnet/osnet_x0_25", "--device", "cuda:7"], 2, "device 'cuda:7'"),
        (["--config", "osnet/osnet_x0_25", "--resume", "logs/best.pth"], 1, "not found"),
        (
            ["--config", "osnet/osnet_x0_25", "--set", "plugins.require=['reid-plugin-x>=1']"],
            4,
            "pip install 'reid-plugin-x>=1'",
        ),
    ],
)
def test_wrong_inputs_are_answered_before_work_starts(
    run, tmp_path, tiny_market, arguments, code, message
):
    where = ["--set", f"data.test={{name: market1501, root: '{tiny_market.as_posix()}'}}"]
    is_recipe = "--config" in arguments and "nowhere.yaml" not in arguments
    if is_recipe and "data.train" not in arguments[-1]:
        root = f"data.train={{name: market1501, root: '{tiny_market.as_posix()}'}}"
        small = ["--set", "data.batch={identities: 3, instances: 4}"]
        arguments = [*arguments[:2], "--set", root, *small, *arguments[2:]]
    answered = run("reid-train", *arguments, *(where if is_recipe else []))
    assert answered.returncode == code, answered.stderr
    assert message in answered.stderr
    assert "Traceback" not in answered.stderr
    assert not (tmp_path / "runs").exists(), "nothing was written"
