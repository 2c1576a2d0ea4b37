import importlib
import inspect
import json
import socket
import sys

import numpy as np
import pytest
import torch

from reid_core.engine import SimpleTrainer
from reid_core.engine.hooks.implementations import HOOK_NAMES, implementations
from reid_core.errors import PluginError
from reid_core.hookspecs import HookSpecs
from reid_core.plugins.index import installed
from reid_core.plugins.registries import BACKBONES, LOSSES
from reid_core.testing import tiny_reid_batch
from reid_core.testing.fake_dist import FakeSite
from reid_core.testing.hook_recorder import HookRecorder
from reid_core.testing.network import NetworkBlockedError
from reid_core.testing.tiny_model import tiny_model

SOURCE = "class Mine:\n    value = {value}\n"


def test_a_fake_distribution_is_found_and_loaded(fake_dist: FakeSite) -> None:
    root = fake_dist(
        "reid-plugin-made-up",
        {"losses": {"made_up": "made_up_module:Mine"}},
        version="2.5",
        modules={"made_up_module.py": SOURCE.format(value=1)},
    )
    ref = LOSSES.resolve("made_up")
    assert (ref.dist, ref.version, ref.status) == ("reid-plugin-made-up", "2.5", "ok")
    assert LOSSES.get("made_up").value == 1
    assert sys.path[0] == str(root)


def test_a_fake_distribution_is_gone_after_the_test(tmp_path) -> None:
    path = list(sys.path)
    for value in (1, 2):
        site = FakeSite(tmp_path / str(value))
        modules = {"made_up_module.py": SOURCE.format(value=value)}
        site("reid-plugin-made-up", {"losses": {"made_up": "made_up_module:Mine"}}, modules=modules)
        assert LOSSES.get("made_up").value == value
        site.uninstall()
        assert sys.path == path
        assert "made_up_module" not in sys.modules
        assert "made_up" not in LOSSES


def test_a_fake_distribution_can_need_another_core(fake_dist: FakeSite) -> None:
    fake_dist("reid-plugin-made-up", {"losses": {"made_up": "m:Mine"}}, requires=["reid-core>=99"])
    with pytest.raises(PluginError, match="reid-core>=99"):
        LOSSES.resolve("made_up")


def test_a_fake_distribution_can_be_editable_and_have_any_entry_points(fake_dist: FakeSite) -> None:
    root = fake_dist(
        "reid-plugin-made-up",
        "[reid_core.losses]\nmade_up = m:Mine\n",
        direct_url={"url": "file:///x", "dir_info": {"editable": True}},
    )
    assert LOSSES.resolve("made_up").editable
    (note,) = root.glob("*.dist-info/direct_url.json")
    assert json.loads(note.read_text())["url"] == "file:///x"


def test_a_later_fake_comes_behind_an_earlier_one(fake_dist: FakeSite) -> None:
    first = fake_dist("reid-plugin-a", {}, modules={"same_name_of_both.py": "value = 1"})
    fake_dist("reid-plugin-b", {}, modules={"same_name_of_both.py": "value = 2"})
    assert importlib.import_module("same_name_of_both").__file__.startswith(str(first))


def test_blocked_discovery_leaves_the_core_and_what_is_added(
    plugin_index_blocked: None, fake_dist: FakeSite
) -> None:
    fake_dist("reid-plugin-made-up", {"losses": {"made_up": "m:Mine"}})
    usable = {ref.dist for ref in installed().refs if ref.status == "ok"}
    assert usable == {"reid-core", "reid-plugin-made-up"}
    with pytest.raises(PluginError, match="plugin_index_blocked"):
        BACKBONES.resolve("osnet_x0_25")


def test_discovery_is_not_blocked_for_long() -> None:
    assert BACKBONES.resolve("osnet_x0_25").dist == "reid-plugin-osnet"


def test_the_recorder_writes_every_call_of_a_run_down(hook_recorder: HookRecorder) -> None:
    model = tiny_model(num_classes=4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    trainer = SimpleTrainer(model, [tiny_reid_batch(), tiny_reid_batch(seed=1)], optimizer)
    trainer.register_hooks([hook_recorder])
    trainer.train(0, 2)
    step = ["before_step", "run_step", "after_backward", "after_step"]
    assert hook_recorder.names() == [
        *("before_train", "before_epoch", *step, "should_stop", *step),
        *("after_epoch", "should_stop", "after_train"),
    ]
    assert hook_recorder.popcall("before_train").arguments == {"trainer": trainer}
    assert [hook_recorder.popcall("after_step").arguments["step"] for _ in range(2)] == [0, 1]
    with pytest.raises(AssertionError, match="no call of 'after_step' is left; there are"):
        hook_recorder.popcall("after_step")
    hook_recorder.clear()
    assert not hook_recorder.calls


def test_the_recorder_knows_every_hook_with_all_its_arguments() -> None:
    known = {i.hook: [a.name for a in i.arguments()] for i in implementations(HookRecorder)}
    assert set(known) == set(HOOK_NAMES)
    for name, arguments in known.items():
        assert arguments == list(inspect.signature(getattr(HookSpecs, name)).parameters)[1:]


def test_the_tiny_batch_has_identities_instances_and_cameras() -> None:
    batch = tiny_reid_batch(identities=3, instances=2, image_size=(8, 4))
    assert batch.images.shape == (6, 3, 8, 4)
    assert batch.pids.tolist() == [0, 0, 1, 1, 2, 2]
    assert set(batch.camids.tolist()) == {0, 1}
    assert torch.equal(
        batch.images, tiny_reid_batch(identities=3, instances=2, image_size=(8, 4)).images
    )
    other = tiny_reid_batch(identities=3, instances=2, image_size=(8, 4), seed=1)
    assert not torch.equal(batch.images, other.images)


def test_without_network_an_address_elsewhere_is_refused(no_network: None) -> None:
    with pytest.raises(NetworkBlockedError, match=r"without a network.*example\.invalid"):
        socket.create_connection(("example.invalid", 80), timeout=1)
    with socket.socket() as one, pytest.raises(NetworkBlockedError, match=r"192\.0\.2\.1"):
        one.connect(("192.0.2.1", 80))
    with socket.socket() as one, pytest.raises(OSError, match="without a network"):
        one.connect_ex(("192.0.2.1", 80))


def test_without_network_processes_of_this_machine_still_talk(no_network: None) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with socket.create_connection(server.getsockname(), timeout=10) as client:
            client.sendall(b"here")
            with server.accept()[0] as peer:
                assert peer.recv(4) == b"here"
    left, right = socket.socketpair()
    left.close()
    right.close()


def test_every_fixture_is_there_for_who_asks(pytester_run) -> None:
    result = pytester_run(
        conftest='pytest_plugins = ["reid_core.testing.fixtures"]\n',
        test_fixtures="""
def test_all(
    fake_dist, plugin_index_blocked, hook_recorder, tiny_reid_batch, tiny_market, no_network
):
    assert tiny_reid_batch.images.shape == (16, 3, 64, 32)
    assert (tiny_market / "query").is_dir()
    assert hook_recorder.calls == []
""",
    )
    assert "1 passed" in result


def test_an_author_sees_the_checks_of_a_class_and_what_failed(pytester_run) -> None:
    result = pytester_run(
        "-k",
        "factor",
        test_mine="""
from reid_core.testing import ScheduleConformance

class TestCosine(ScheduleConformance):
    name = "cosine"
    dist = "reid-core"
    parameters = {"min_lr": -1}
""",
    )
    assert "TestCosine::test_factor_is_a_finite_number" in result
    assert "min_lr is -1" in result
    assert "set `parameters` in TestCosine" in result
    assert "ScheduleConformance::" not in result


def test_numbers_of_the_batch_are_normal() -> None:
    images = tiny_reid_batch().images
    assert np.isclose(images.mean().item(), 0, atol=0.05)
    assert np.isclose(images.std().item(), 1, atol=0.05)
