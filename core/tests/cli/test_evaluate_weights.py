"""``reid-eval --checkpoint``: weights of a run, alone and together, and their threshold."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from reid_core.checkpoint.artifact import read_info
from reid_core.checkpoint.weights import read_state_dict
from reid_core.cli.evaluate import main
from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.engine.record.weights_info import WeightsInfo
from reid_core.evaluation.files.embedding_file import read_embeddings
from reid_core.hookspecs import hookimpl
from reid_core.plugins.registries import HOOKS, LOSSES
from reid_core.testing import write_tiny_market


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def answer(*arguments: object) -> dict:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def train(recipe: Path, folder: Path, **changes: object) -> Path:
    settings = {"output": str(folder), "train.epochs": 1, "evaluate.details": False, **changes}
    trainer = DefaultTrainer(load_config(recipe, settings))
    trainer.resume_or_load()
    trainer.train()
    return folder


@pytest.fixture
def trained(tiny_recipe: Path, tmp_path: Path) -> Path:
    return train(tiny_recipe, tmp_path / "run")


def test_a_run_gives_its_own_figures_again(trained, tmp_path):
    expected = json.loads((trained / "results.json").read_text())["evaluations"][-1]
    found = answer("--checkpoint", trained, "--details", "--save-embeddings", tmp_path / "e.npz")
    (evaluation,) = found["evaluations"]
    assert evaluation["metrics"] == expected["metrics"]
    assert evaluation["weights"] in ("best", "last")
    assert found["weights"].endswith(".safetensors")
    assert found["details"][0]["intervals"]["mAP"]["low"] <= expected["metrics"]["mAP"]

    # The same embeddings in a file give the same figures, and know their images.
    (again,) = answer("--embeddings", tmp_path / "e.npz", "--no-details")["evaluations"]
    assert again["metrics"] == expected["metrics"]
    embeddings = read_embeddings(tmp_path / "e.npz")
    assert Path(embeddings.describe(0)["path"]).is_file()


def test_the_output_of_a_run_is_a_folder_that_compares(trained, tiny_recipe, tmp_path):
    other = train(tiny_recipe, tmp_path / "other", seed=3)
    for name, folder in (("a", trained), ("b", other)):
        result = run("--checkpoint", folder, "--details", "--output", tmp_path / name)
        assert result.exit_code == 0, result.output
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert names >= {"config.yaml", "components.json", "env.json", "status.json", "report.html"}
    compared = run("--compare", tmp_path / "a", tmp_path / "b", "--output", tmp_path / "c")
    assert compared.exit_code == 0, compared.output
    assert "market1501 (protocol market1501)" in compared.stdout
    assert "identities)" in compared.stdout
    assert (tmp_path / "c" / "comparison.html").is_file()


def test_weights_are_evaluated_without_the_hooks_and_losses_of_their_training(
    tiny_recipe, tmp_path
):
    class Gone:
        @hookimpl
        def after_step(self) -> None:
            pass

    HOOKS.register(Gone, name="gone_hook")
    LOSSES.register(LOSSES.get("tiny_loss"), name="gone_loss")
    try:
        losses = [{"name": "gone_loss"}]
        changes = {"hooks": ["gone_hook"], "model.losses": losses}
        folder = train(tiny_recipe, tmp_path / "run", **changes)
    finally:
        HOOKS._local.pop("gone_hook")
        LOSSES._local.pop("gone_loss")
    result = run("--checkpoint", folder, "--no-details")
    assert result.exit_code == 0, result.output
    missing = run("--checkpoint", folder, "--set", "model.head.name=gone_head")
    assert missing.exit_code == 4
    assert "unknown head 'gone_head'" in missing.stderr


def test_several_checkpoints_are_one_model(trained, tiny_recipe, tmp_path):
    other = train(tiny_recipe, tmp_path / "other", seed=3)
    both = ["--checkpoint", trained, "--checkpoint", other, "--ensemble", "concat"]
    (evaluation,) = answer(*both, "--no-details", "--save-embeddings", tmp_path / "e.npz")[
        "evaluations"
    ]
    assert "concatenation of 2 models" in evaluation["features"]
    assert read_embeddings(tmp_path / "e.npz").query.features.shape[1] == 16


@pytest.fixture
def validation(tmp_path: Path) -> Path:
    """Other images of other identities."""
    root = tmp_path / "val"
    write_tiny_market(root, train_identities=10, test_identities=5)
    return root


def test_a_threshold_is_stored_with_the_weights_and_used_again(trained, validation):
    weights = trained / "weights" / "last.safetensors"
    before = read_state_dict(weights)
    spec = f"{{name: market1501, root: '{validation.as_posix()}', title: val}}"
    options = ["--checkpoint", weights, "--no-details"]
    chosen = answer(*options, "--calibrate", "tpr=0.8", "--validation", spec)
    assert chosen["threshold"]["criterion"] == "tpr=0.8"
    assert chosen["threshold"]["source"] == "val"
    assert read_info(weights)["threshold"] == chosen["threshold"]
    after = read_state_dict(weights)
    assert all(np.array_equal(before[key], after[key]) for key in before)

    later = run(*options)
    assert later.exit_code == 0, later.output
    (line,) = [line for line in later.stdout.splitlines() if "threshold" in line]
    assert line.startswith("market1501: threshold ")
    there = chosen["threshold"]
    assert there["tpr"] >= 0.8
    told = f"tpr {100 * there['tpr']:.2f} %, fpr {100 * there['fpr']:.3g} %; on this set: tpr "
    assert f"(cosine distance, tpr=0.8), chosen on val: {told}" in line
    stored = WeightsInfo.of(weights).threshold
    assert stored is not None
    assert stored.value == there["value"]
    rates = answer(*options)["threshold_rates"]
    assert rates == chosen["threshold_rates"]

    unnamed = spec.replace(", title: val", "")
    again = run(*options, "--calibrate", "eer", "--validation", unnamed)
    assert again.exit_code == 0, again.output
    assert f"is stored instead of the earlier {there['value']:.6g} (cosine" in again.stderr
    # Of a test set's name the root tells where it was chosen.
    assert f"chosen on market1501 ({unnamed})" in again.stdout

    other = run(*options, "--distance", "euclidean")
    assert other.exit_code == 0
    assert "is for the cosine distance, and this is the euclidean distance" in other.stderr
    assert "threshold" not in other.stdout

    flipped = run(*options, "--set", "evaluate.features.flip=true")
    assert "was chosen for embeddings made in another way (plain, now " in flipped.stderr


def test_a_threshold_is_not_chosen_on_the_test_set(trained, tiny_market, tmp_path, monkeypatch):
    weights = trained / "weights" / "last.safetensors"
    content = weights.read_bytes()
    options = ["--checkpoint", weights, "--no-details", "--calibrate", "eer", "--validation"]
    same = f"{{name: market1501, root: '{tiny_market.as_posix()}'}}"
    refused = run(*options, same)
    assert refused.exit_code == 2
    assert "is a test set: a threshold chosen on the test set looks better" in refused.stderr

    renamed = run(*options, same.replace("}", ", title: other}"))
    assert renamed.exit_code == 2
    assert "validation set other and test set market1501 share " in renamed.stderr
    assert weights.read_bytes() == content

    checkpoint = next((trained / "checkpoints").glob("*.pt"))
    stored = run("--checkpoint", checkpoint, "--calibrate", "eer", "--validation", same)
    assert stored.exit_code == 2
    assert "is a checkpoint; name a run folder or one of the .safetensors" in stored.stderr

    # What costs hours is not begun where a path or a table tells the mistake.
    def load(*_: object) -> None:
        pytest.fail("a model is loaded")

    monkeypatch.setattr("reid_core.engine.evaluation.weights.load_model", load)
    assert run(*options, same.replace("}", ", title: other}")).stderr == renamed.stderr
    missing = run(*options, tmp_path / "nofile.csv")
    assert missing.exit_code == 3
    assert "nofile.csv" in missing.stderr
    gate = run("--checkpoint", weights, "--min", "rerank:mAP=0.5")
    assert gate.exit_code == 2
    assert "--min rerank:mAP=0.5: nothing is re-ranked: add --rerank" in gate.stderr

    wrong = run(*options, "[1, 2]")
    assert wrong.exit_code == 2
    assert "expected a table .csv or .parquet, or a data set as in data.test" in wrong.stderr


def test_one_camera_leaves_nothing_to_measure_and_says_what_to_type(trained, tiny_market, tmp_path):
    # Case B038: every image is of one camera.
    root = tmp_path / "one"
    shutil.copytree(tiny_market, root)
    for path in [*(root / "query").iterdir(), *(root / "bounding_box_test").iterdir()]:
        if "_c2" in path.name:
            path.unlink()
    test = ["--set", f"data.test={{name: market1501, root: '{root.as_posix()}'}}"]
    result = run("--checkpoint", trained, *test)
    assert result.exit_code == 3
    assert "0 of 4 queries" in result.stderr
    assert "turn the camera filter off: --set evaluate.protocol=no_camera" in result.stderr
    assert "%" not in result.stdout
    found = answer("--checkpoint", trained, *test, "--protocol", "no_camera", "--no-details")
    assert np.isfinite(found["evaluations"][0]["metrics"]["mAP"])


def test_a_plain_folder_of_identities_is_evaluated_by_leave_one_out(trained, tiny_market, tmp_path):
    for path in (tiny_market / "bounding_box_test").iterdir():
        folder = tmp_path / "crops" / path.name.split("_")[0]
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder)
    test = f"data.test={{name: folder, root: {tmp_path / 'crops'}}}"
    arguments = ("--checkpoint", trained, "--set", test, "--no-details")
    found = answer(*arguments, "--protocol", "leave_one_out")["evaluations"]
    assert [(one["dataset"], one["protocol"]) for one in found] == [("crops", "leave_one_out")]
    assert found[0]["num_queries"] == len(list((tmp_path / "crops").glob("*/*")))
    refused = run(*arguments, "--protocol", "no_camera")
    assert "by --set evaluate.protocol=leave_one_out" in refused.output
    assert "evaluate.every=0" not in refused.output


def test_a_wrong_order_of_rerankers_is_refused_before_weights_are_read(trained):
    arguments = ("--checkpoint", trained, "--set", "data.test={name: folder, root: nowhere}")
    result = run(*arguments, "--rerank", "k_reciprocal", "--rerank", "aqe")
    assert result.exit_code != 0
    assert "k_reciprocal changes distances, so aqe cannot come after it" in result.output
    assert "loaded" not in result.output


def test_sets_of_like_names_are_saved_in_files_of_their_own(trained, validation, tmp_path):
    tests = [
        f"{{name: market1501, root: '{validation.as_posix()}', title: {title}}}"
        for title in ("a:1", "a_1")
    ]
    chosen = f"data.test=[{', '.join(tests)}]"
    options = ["--set", chosen, "--no-details", "--save-embeddings", tmp_path / "all.npz"]
    written = answer("--checkpoint", trained, *options)["written"]
    assert len(set(written)) == 2
    for path in written:
        assert len(read_embeddings(Path(path)).query)
