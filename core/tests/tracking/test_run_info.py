from __future__ import annotations

import json
from types import SimpleNamespace

from reid_core.tracking.run_info import RunInfo


def trainer_in(folder, environment):
    (folder / "env.json").write_text(json.dumps(environment), encoding="utf-8")
    part = SimpleNamespace(kind="losses", name="triplet", dist="a", version="0.1")
    return SimpleNamespace(
        config=SimpleNamespace(name="mine", plain=lambda: {"seed": 1, "api_key": "x"}),
        folder=SimpleNamespace(path=folder),
        train_manifests=[SimpleNamespace(name="a"), SimpleNamespace(name="b")],
        evaluators=[SimpleNamespace(name="b")],
        components=[part, part],
        start_iter=3,
    )


def test_what_may_be_told_of_a_run_is_told_and_nothing_else(tmp_path):
    environment = {
        "torch": "2.6",
        "command": ["train", "--password=x"],
        "variables": {"OMP_NUM_THREADS": "1", "NCCL_TOKEN": "x"},
        "git": {"commit": "abc", "dirty": ["secret_plans.md"], "num_dirty": 1},
    }
    assert RunInfo.of(trainer_in(tmp_path, environment), "id") == RunInfo(
        name=f"mine/{tmp_path.name}",
        recipe="mine",
        folder=tmp_path,
        config={"seed": 1},
        components=("loss triplet (a 0.1)",),
        environment={
            "torch": "2.6",
            "variables": {"OMP_NUM_THREADS": "1"},
            "git": {"commit": "abc", "num_dirty": 1},
        },
        tags=("mine", "a", "b"),
        first_step=3,
        run_id="id",
    )


def test_a_folder_outside_of_git_is_told_too(tmp_path):
    assert RunInfo.of(trainer_in(tmp_path, {"git": None})).environment == {"git": None}
