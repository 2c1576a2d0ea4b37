"""Parts hold the embeddings of the extraction in one process, bit by bit, and can be evaluated."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from click.testing import CliRunner

from reid_core.config import load_config
from reid_core.data.datasets.market1501 import market1501
from reid_core.engine import DefaultTrainer
from reid_core.engine.evaluation.measure import measure_model
from reid_core.engine.evaluation.weights import config_of_weights, load_model
from reid_core.engine.record.weights_info import WeightsInfo, find_weights
from reid_plugin_ray.command import main
from reid_plugin_ray.embedding.part_file import broken_images_of, join_parts
from reid_plugin_ray.embedding.plan import EmbedPlan
from reid_plugin_ray.embedding.worker import Embedder, EmbedJob


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Sums of several threads are rounded otherwise; a worker of one CPU has one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def weights(tmp_path_factory, recipe):
    """Weights of a run of one epoch."""
    folder = tmp_path_factory.mktemp("run")
    settings = {"output": str(folder / "run"), "train.epochs": 1, "evaluate.every": 0}
    DefaultTrainer(load_config(recipe, settings)).train()
    return find_weights(folder / "run")


@pytest.fixture(scope="module")
def evaluated(weights):
    """What an evaluation in one process gave."""
    config = config_of_weights(weights, ["data.workers=0", "evaluate.every=1"])
    model = load_model(config, weights)
    return measure_model(config, model, WeightsInfo.of(weights)).sets[0]


def expected(evaluated):
    return np.concatenate([side.features for side in evaluated.embeddings.sides])


def embedder(weights, manifest, output, **changes):
    """Return a worker in this process, for parts of 16 images."""
    settings = [f"{key}={value}" for key, value in changes.items()]
    config = config_of_weights(weights, ["data.workers=0", *settings])
    rows = np.flatnonzero(manifest.splits != "train")
    plan = EmbedPlan(
        dataset=manifest.name,
        source="test",
        splits=("query", "gallery"),
        num_rows=len(rows),
        rows_per_part=16,
        batch_size=8,
        weights=str(weights),
        weights_sha256="",
        config=config.plain(),
    )
    job = EmbedJob(plan, str(output), {"name": "market1501"}, str(Path.cwd()))
    return Embedder(job, manifest.take(rows), rows)


def in_all_parts(worker, output):
    plan = worker._job.plan
    told = worker({"part": np.arange(plan.num_parts)})
    assert set(told["error"].tolist()) == {""}
    return [plan.path(output, part) for part in range(plan.num_parts)]


def embeddings_in(path):
    return np.stack(pq.read_table(path).column("embedding").to_pylist()).astype(np.float32)


def test_parts_hold_the_embeddings_of_one_process_bit_by_bit(
    weights, tiny_market, evaluated, tmp_path
):
    parts = in_all_parts(embedder(weights, market1501(root=str(tiny_market)), tmp_path), tmp_path)
    assert len(parts) > 1
    found = np.concatenate([embeddings_in(path) for path in parts])
    assert np.array_equal(found, expected(evaluated))


def test_a_part_has_a_row_an_image_and_says_which(weights, tiny_market, tmp_path):
    manifest = market1501(root=str(tiny_market))
    _, second, *_ = in_all_parts(embedder(weights, manifest, tmp_path), tmp_path)
    table = pq.read_table(second)
    assert table.column_names[:6] == ["row", "path", "split", "pid", "camid", "embedding"]
    rows = np.flatnonzero(manifest.splits != "train")[16:32]
    assert table.column("row").to_pylist() == rows.tolist()
    assert table.column("pid").to_pylist() == manifest.pids[rows].tolist()
    assert table.column("camid").to_pylist() == manifest.camids[rows].tolist()
    assert table.column("split").to_pylist() == manifest.splits[rows].tolist()
    paths = [str(tiny_market / path) for path in manifest.paths[rows]]
    assert table.column("path").to_pylist() == paths
    kind = table.schema.field("embedding").type
    assert (str(kind.value_type), kind.list_size > 0) == ("float", True)


def broken_copy(tiny_market, folder):
    """Return the data set with a query image that cannot be read."""
    import shutil

    shutil.copytree(tiny_market, folder)
    image = sorted(folder.glob("**/query/*"))[3]
    image.write_bytes(b"no image")
    return market1501(root=str(folder)), image


def test_a_broken_image_is_told_with_its_path(weights, tiny_market, tmp_path):
    manifest, image = broken_copy(tiny_market, tmp_path / "data")
    told = embedder(weights, manifest, tmp_path)({"part": np.array([0])})
    assert str(image) in told["error"][0]
    assert not list(tmp_path.glob("part-*"))


def test_a_broken_image_is_left_out_where_that_was_asked_for(weights, tiny_market, tmp_path):
    manifest, image = broken_copy(tiny_market, tmp_path / "data")
    worker = embedder(weights, manifest, tmp_path, **{"data.broken_images": "skip"})
    parts = in_all_parts(worker, tmp_path)
    assert [len(pq.read_table(path)) for path in parts[:2]] == [15, 16]
    (told,) = broken_images_of(parts[0])
    assert told["path"] == str(image)
    assert manifest.paths[told["row"]] in str(image)
    assert told["row"] not in pq.read_table(parts[0]).column("row").to_pylist()
    assert broken_images_of(parts[1]) == []


def test_a_model_that_cannot_be_loaded_is_told_for_every_part(weights, tiny_market, tmp_path):
    bad = tmp_path / "bad.safetensors"
    bad.write_bytes(weights.read_bytes()[:1000])
    worker = embedder(weights, market1501(root=str(tiny_market)), tmp_path)
    from dataclasses import replace

    plan = replace(worker._job.plan, weights=str(bad))
    worker = Embedder(replace(worker._job, plan=plan), worker._manifest, worker._rows)
    told = worker({"part": np.array([0, 1])})
    assert told["error_kind"].tolist() == ["CheckpointError"] * 2
    assert all(str(bad) in text for text in told["error"])


def test_the_joined_file_is_evaluated_to_the_figures_of_one_process(
    weights, tiny_market, evaluated, tmp_path
):
    from reid_core.engine.evaluation.embedding_evaluation import (
        embedding_config,
        evaluate_embeddings,
    )
    from reid_core.evaluation.files.embedding_file import read_embeddings

    parts = in_all_parts(embedder(weights, market1501(root=str(tiny_market)), tmp_path), tmp_path)
    joined = tmp_path / "embeddings.parquet"
    assert join_parts(parts, joined) == len(expected(evaluated))
    done = evaluate_embeddings(read_embeddings(joined), embedding_config([]), weights="file")
    assert done.evaluations[0].metrics == evaluated.evaluations[0].metrics


@pytest.mark.xdist_group("ray")
def test_the_command_spreads_parts_over_workers_and_does_what_is_missing(
    weights, tiny_market, evaluated, tmp_path, local_ray
):
    output = tmp_path / "out"
    words = ["embed", str(tiny_market), "-w", str(weights), "-o", str(output), "--join"]
    words += ["--split", "query", "--split", "gallery", "--rows-per-part", "16", "--workers", "1"]
    words += ["--address", local_ray]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert np.array_equal(embeddings_in(output / "embeddings.parquet"), expected(evaluated))
    assert json.loads((output / "embed.json").read_text())["state"] == "completed"

    parts = sorted(output.glob("part-*.parquet"))
    before = parts[1].read_bytes()
    kept = parts[0].stat().st_mtime_ns
    parts[1].unlink()
    result = CliRunner().invoke(main, [*words, "--resume"])
    assert result.exit_code == 0, result.output
    assert "1 of them made now" in result.output
    assert parts[1].read_bytes() == before
    assert parts[0].stat().st_mtime_ns == kept
    # Nothing is missing: no Ray is asked.
    result = CliRunner().invoke(main, [*words[:-1], "no-such-place:1", "--resume"])
    assert (result.exit_code, "0 of them made now" in result.output) == (0, True)


@pytest.mark.xdist_group("ray")
def test_an_error_of_a_worker_ends_the_command_as_its_own_kind(
    weights, tiny_market, tmp_path, local_ray
):
    _, image = broken_copy(tiny_market, tmp_path / "data")
    words = ["embed", str(tmp_path / "data"), "-w", str(weights), "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(main, [*words, "--address", local_ray])
    assert result.exit_code == 3
    assert str(image) in result.output
    assert json.loads((tmp_path / "out/embed.json").read_text())["state"] == "running"


@pytest.mark.xdist_group("ray")
def test_a_worker_that_no_machine_has_room_for_is_refused(
    weights, tiny_market, tmp_path, local_ray
):
    words = ["embed", str(tiny_market), "-w", str(weights), "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(main, [*words, "--cpus", "3", "--address", local_ray])
    assert result.exit_code == 2
    assert "no machine has room for a worker of --cpus 3" in result.output
    assert "there are: 2 CPUs and 0 GPUs" in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("setting", "code", "told"),
    [
        ("model.backbone.name=none", 4, "unknown backbone 'none'"),
        (
            "device=cuda",
            2,
            "device is cuda, and a worker gets no GPU; say how much of one by --gpus",
        ),
    ],
)
def test_what_no_worker_could_do_is_told_before_one_is_started(
    weights, tiny_market, tmp_path, setting, code, told
):
    words = ["embed", str(tiny_market), "-w", str(weights), "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(main, [*words, "--set", setting, "--address", "nowhere"])
    assert (result.exit_code, told in result.output) == (code, True), result.output
    assert not (tmp_path / "out").exists()
