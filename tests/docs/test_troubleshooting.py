"""Each message on the page is one that the program gives, and each scenario's message is there."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch
from torch import nn

from reid_core.checkpoint.folder import CheckpointFolder
from reid_core.checkpoint.weights import load_into
from reid_core.config import load_config
from reid_core.data.image_reader import read_image
from reid_core.data.transforms import ImageTransform
from reid_core.engine import DefaultTrainer
from reid_core.engine.check import check_config
from reid_core.engine.device import pick_device
from reid_core.engine.evaluation.calibration import require_apart
from reid_core.engine.evaluation.run_comparison import compare_folders
from reid_core.engine.hooks.hook_manager import HookManager
from reid_core.engine.record.provenance import UsedComponent, require_components
from reid_core.engine.resuming.changes import changes_of, require_decision
from reid_core.errors import ReidError
from reid_core.evaluation import no_camera, searches
from reid_core.evaluation.files.embedding_file import read_embeddings
from reid_core.evaluation.metrics.threshold import Criterion, choose_threshold
from reid_core.hookspecs import hookimpl
from reid_core.plugins.index import PluginIndex, disabled_plugins
from reid_core.plugins.registries import TRANSFORMS
from reid_core.plugins.registry import Registry
from reid_core.testing import write_tiny_market

RECIPE = "osnet/osnet_x0_25"


def settings(**changes):
    """Return overrides for a run on the tiny data set, with ``__`` for a dot in the keys."""
    base = {
        "data.train": {"name": "market1501", "root": "tiny"},
        "data.image_size": [32, 16],
        "data.batch": {"identities": 3, "instances": 4},
        "data.workers": 0,
        "train.epochs": 2,
        "train.schedule": {"name": "constant"},
        "output": "run",
        "device": "cpu",
    }
    return base | {key.replace("__", "."): value for key, value in changes.items()}


def train(**changes):
    trainer = DefaultTrainer(load_config(RECIPE, settings(**changes)))
    trainer.resume_or_load()
    trainer.train()


def no_such_folder():
    DefaultTrainer(load_config(RECIPE, settings(data__train={"name": "market1501", "root": "tin"})))


def folder_above():
    Path("other/images").mkdir(parents=True)
    changes = {"data__train": {"name": "market1501", "root": "other"}}
    DefaultTrainer(load_config(RECIPE, settings(**changes)))


def other_file_names():
    for name in ("bounding_box_train", "query", "bounding_box_test"):
        Path("named", name).mkdir(parents=True)
        Path("named", name, "anna 1.jpg").write_bytes(b"")
    changes = {"data__train": {"name": "market1501", "root": "named"}}
    DefaultTrainer(load_config(RECIPE, settings(**changes)))


def one_camera():
    for folder in ("bounding_box_train", "query", "bounding_box_test"):
        for path in sorted(Path("tiny", folder).iterdir()):
            if "_c2" in path.name:
                path.unlink()
    DefaultTrainer(load_config(RECIPE, settings()))


def broken_image():
    path = next(Path("tiny/bounding_box_train").iterdir())
    path.write_bytes(path.read_bytes()[:100])
    train()


def text_for_an_image():
    Path("a.jpg").write_text("hello")
    read_image("a.jpg")


def too_few_identities():
    DefaultTrainer(load_config(RECIPE, settings(data__batch={"identities": 16, "instances": 4})))


def odd_batch_size():
    DefaultTrainer(
        load_config(RECIPE, settings(data__batch={"size": 10, "instances": 4, "identities": None}))
    )


def size_beside_identities():
    DefaultTrainer(load_config(RECIPE, settings(data__batch={"size": 16})))


def long_warm_up():
    warmup = {"name": "constant", "warmup": {"epochs": 5}}
    DefaultTrainer(load_config(RECIPE, settings(train__schedule=warmup)))


def used_folder():
    Path("run").mkdir()
    Path("run/config.yaml").write_text("")
    train()


def diverged():
    train(train__optimizer__lr=1e30, train__log_every=1, evaluate__at_start=False)


def unknown_backbone():
    check_config(load_config(RECIPE, {"model.backbone": {"name": "osnet_x025"}}))


def unknown_parameter():
    check_config(load_config(RECIPE, {"model.head.poling": "gem"}))


def unknown_recipe():
    load_config("osnet/osnet_x0_52")


def missing_distribution():
    check_config(load_config(RECIPE, {"plugins.require": ["reid-plugin-other>=2"]}))


def distribution(name, entry, needs="reid-core"):
    info = Path("site", f"{name.replace('-', '_')}-1.0.dist-info")
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: {needs}\n"
    )
    (info / "entry_points.txt").write_text(f"[reid_core.heads]\n{entry}\n")


def scanned():
    return Registry("heads", index=PluginIndex.scan())


def known_but_not_installed():
    with mock.patch("reid_core.plugins.refusals.installed_version", return_value=None):
        PluginIndex(()).find("backbones", "osnet_x0_25")


def disabled_plugin():
    with disabled_plugins(["reid-plugin-osnet"]):
        PluginIndex.scan().find("backbones", "osnet_x0_25")


def misspelt_switch():
    check_config(load_config(RECIPE, {"plugins.disable": ["reid-plugin-osnt"]}))


def other_plugin_api():
    api = "[reid_core.plugin_api]\n2 = one"
    distribution("reid-plugin-one", f"newer = one:Head\n{api}")
    scanned().resolve("newer")


def missing_requirement():
    Path("site").mkdir()
    Path("site/one.py").write_text("import not_there_at_all")
    distribution("reid-plugin-one", "broken = one:Head", needs="not-there-at-all>=2")
    scanned().get("broken")


def missing_component_of_a_run():
    config = load_config(RECIPE, {"model.head": {"name": "small"}})
    require_components(config, [UsedComponent("heads", "small", "reid-plugin-small", "0.3.1")])


def two_providers():
    distribution("reid-plugin-one", "same = one:Head")
    distribution("reid-plugin-two", "same = two:Head")
    scanned().resolve("same")


def broken_plugin():
    distribution("reid-plugin-one", "broken = reid_plugin_missing.head:Head")
    scanned().get("broken")


def newer_core_needed():
    distribution("reid-plugin-one", "newer = one:Head", needs="reid-core>=99")
    scanned().resolve("newer")


def misspelt_hook():
    class Mine:
        @hookimpl
        def after_stp(self): ...

    HookManager().add(Mine())


def unmarked_hook():
    class Mine:
        def look(self): ...

    HookManager().add(Mine())


def two_steps():
    class Mine:
        @hookimpl
        def run_step(self): ...

    HookManager().extend([("one", Mine()), ("two", Mine())])


def noisy_hook():
    class Mine:
        @hookimpl
        def after_step(self):
            torch.rand(1)

    trainer = DefaultTrainer(load_config(RECIPE, settings()))
    trainer.hooks.add(Mine(), id="mine")
    trainer.train()


def with_transform(transform):
    with mock.patch.dict(TRANSFORMS._local, {"mine": lambda: transform}):
        workers = {"data__workers": 1, "data__start_method": "spawn"}
        train(data__transforms=["mine"], **workers)


class Keeps(ImageTransform):
    change = None

    def __call__(self, image, rng):
        return image


def transform_with_a_lambda():
    transform = Keeps()
    transform.change = lambda image: image
    with_transform(transform)


def transform_that_only_this_process_has():
    local = types.ModuleType("nowhere_on_the_disk")
    local.Local = type("Local", (Keeps,), {"__module__": local.__name__})
    with mock.patch.dict(sys.modules, {local.__name__: local}):
        with_transform(local.Local())


def hook_twice():
    load_config(RECIPE, {"hooks": ["checkpoint"]})


def other_weights():
    load_into(nn.Linear(2, 2), nn.Linear(3, 2).state_dict(), source="weights.pth")


def changed_configuration():
    config = load_config(RECIPE, settings())
    changes = changes_of({**config.plain(), "seed": 5}, config)
    require_decision(changes, None, source=Path("run/checkpoints/step_00000004.pt"))


def no_room_for_a_checkpoint():
    folder = CheckpointFolder(Path("checkpoints"))
    folder.save({}, 1)
    folder.path_of(2).mkdir()  # where a file should be
    folder.save({}, 2)


def other_identities():
    trainer = DefaultTrainer(load_config(RECIPE, settings()))
    state = trainer.state_dict() | {"label_map": []}
    trainer.load_state_dict(state)


def other_epoch_length():
    trainer = DefaultTrainer(load_config(RECIPE, settings()))
    trainer.load_state_dict(trainer.state_dict() | {"iters_per_epoch": 99})


def no_gpu():
    pick_device("cuda:99")


def pickled_objects():
    torch.save({"model": Path("x")}, "weights.pth")
    DefaultTrainer(load_config(RECIPE, settings(model__backbone__weights="weights.pth")))


def embeddings(**columns):
    """Write two queries and two gallery entries, and read them."""
    arrays = {
        "query_features": np.eye(2, dtype=np.float32),
        "query_pids": np.array([1, 2]),
        "gallery_features": np.eye(2, dtype=np.float32),
        "gallery_pids": np.array([1, 2]),
    }
    arrays = {name: one for name, one in (arrays | columns).items() if one is not None}
    np.savez("features.npz", **arrays)
    return read_embeddings(Path("features.npz"))


def embeddings_without_a_column():
    embeddings(gallery_pids=None, galery_pids=np.array([1, 2]))


def embeddings_with_objects():
    embeddings(query_pids=np.array(["a", None], dtype=object))


def threshold_on_the_test_set():
    require_apart(embeddings(), [embeddings()])


def too_few_pairs_for_a_threshold():
    found = embeddings(gallery_pids=np.array([1, 3]))
    made = searches(found.query, found.gallery, distance="cosine", protocol=no_camera())
    choose_threshold(made, Criterion.parse("fpr=1e-3"))


def nothing_to_compare():
    for name in ("a", "b"):
        Path(name).mkdir()
        Path(name, "details.json").write_text('{"schema": 1, "details": []}')
    compare_folders(Path("a"), Path("b"))


SCENARIOS = [
    embeddings_without_a_column,
    embeddings_with_objects,
    threshold_on_the_test_set,
    too_few_pairs_for_a_threshold,
    nothing_to_compare,
    no_such_folder,
    folder_above,
    other_file_names,
    one_camera,
    broken_image,
    text_for_an_image,
    too_few_identities,
    odd_batch_size,
    size_beside_identities,
    long_warm_up,
    used_folder,
    diverged,
    unknown_backbone,
    unknown_parameter,
    unknown_recipe,
    missing_distribution,
    two_providers,
    known_but_not_installed,
    disabled_plugin,
    misspelt_switch,
    broken_plugin,
    newer_core_needed,
    other_plugin_api,
    missing_requirement,
    missing_component_of_a_run,
    misspelt_hook,
    unmarked_hook,
    two_steps,
    noisy_hook,
    transform_with_a_lambda,
    transform_that_only_this_process_has,
    hook_twice,
    other_weights,
    changed_configuration,
    no_room_for_a_checkpoint,
    other_identities,
    other_epoch_length,
    no_gpu,
    pickled_objects,
]


@pytest.fixture
def message(tmp_path, monkeypatch, request):
    """What the scenario's error says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REID_DATASETS", raising=False)
    monkeypatch.delenv("FASTREID_DATASETS", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    write_tiny_market(Path("tiny"))
    with pytest.raises(ReidError) as caught:
        request.param()
    return str(caught.value)


def shown(page):
    """Return a pattern for each message on the page; an ellipsis stands for anything."""
    texts = [block.text.strip() for block in page("docs/troubleshooting.md").blocks("text")]
    return [".*".join(re.escape(part) for part in text.split("…")) for text in texts]


@pytest.mark.parametrize("message", SCENARIOS, indirect=True, ids=lambda s: s.__name__)
def test_the_page_shows_the_message(message, page):
    matches = [pattern for pattern in shown(page) if re.fullmatch(pattern, message, re.S)]
    assert len(matches) == 1, message


def test_each_message_on_the_page_has_a_scenario(page):
    assert len(shown(page)) == len(SCENARIOS)
