from __future__ import annotations

import json

import pytest
import torch

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.engine.record.provenance import (
    UsedComponent,
    require_components,
    require_components_of_run,
    require_components_of_weights,
    used_components,
)
from reid_core.engine.record.run_folder import RunFolder
from reid_core.errors import PluginError
from reid_core.plugins.index import rescan

SMALL = UsedComponent("heads", "tiny_head", "reid-plugin-small", "0.3.1")


@pytest.fixture
def plain_head(tiny_recipe):
    """The tiny recipe with a head called ``small``, which nothing provides."""
    return load_config(tiny_recipe, {"model.head": {"name": "small"}})


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A function that installs a distribution whose modules cannot be imported."""

    def install(dist, version, names):
        info = tmp_path / dist / f"{dist.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        head = f"Metadata-Version: 2.1\nName: {dist}\nVersion: {version}\n"
        (info / "METADATA").write_text(head)
        entries = "".join(f"{name} = not_there:Head\n" for name in names)
        (info / "entry_points.txt").write_text(f"[reid_core.heads]\n{entries}")
        monkeypatch.syspath_prepend(tmp_path / dist)
        rescan()

    yield install
    monkeypatch.undo()
    rescan()


def used(name="small", dist="reid-plugin-small", version="0.3.1", kind="heads"):
    return [UsedComponent(kind, name, dist, version)]


def message_of(config, components):
    with pytest.raises(PluginError) as raised:
        require_components(config, components)
    return str(raised.value)


def test_a_component_whose_distribution_is_gone_is_named_with_version_and_command(plain_head):
    assert message_of(plain_head, used()) == (
        "the run was made with head 'small' of reid-plugin-small 0.3.1, which is not installed; "
        "pip install 'reid-plugin-small==0.3.1'"
    )


def test_every_missing_component_is_told_once(tiny_recipe):
    changes = {"model.losses": ["near", "far", "near"], "model.head": {"name": "small"}}
    config = load_config(tiny_recipe, changes)
    gone = [*used(), *used("near", kind="losses"), *used("far", kind="losses")]
    lines = message_of(config, gone).splitlines()
    assert [line.split("'")[1] for line in lines] == ["small", "near", "far"]


def test_a_release_without_the_component_is_answered_with_the_old_one(plain_head, site):
    site("reid-plugin-small", "0.4", ["other"])
    assert message_of(plain_head, used()) == (
        "the run was made with head 'small' of reid-plugin-small 0.3.1, and version 0.4, which is "
        "installed, does not have it; pip install 'reid-plugin-small==0.3.1'"
    )


def test_another_version_that_has_it_is_no_reason_to_refuse(plain_head, site):
    site("reid-plugin-small", "0.4", ["small"])
    require_components(plain_head, used())


def test_a_name_that_means_another_distribution_now_is_refused(plain_head, site):
    site("reid-plugin-other", "1.0", ["small"])
    assert message_of(plain_head, used()) == (
        "the run was made with head 'small' of reid-plugin-small 0.3.1, and the name is "
        "reid-plugin-other 1.0 (not_there:Head)'s now; pip install 'reid-plugin-small==0.3.1', "
        "and name it reid-plugin-small/small"
    )


def test_where_the_one_that_was_used_is_disabled_the_switch_is_named(
    tiny_recipe, site, monkeypatch
):
    site("reid-plugin-small", "0.3.1", ["small"])
    site("reid-plugin-other", "1.0", ["small"])
    changes = {"model.head": {"name": "small"}, "plugins.disable": ["reid-plugin-small"]}
    config = load_config(tiny_recipe, changes)
    assert message_of(config, used()).endswith(
        "(not_there:Head)'s now; take reid-plugin-small out of plugins.disable to use it, and name "
        "it reid-plugin-small/small"
    )
    monkeypatch.setenv("REID_DISABLE_PLUGINS", "reid-plugin-small,reid-plugin-x")
    config = load_config(tiny_recipe, {"model.head": {"name": "small"}})
    assert "; take reid-plugin-small out of REID_DISABLE_PLUGINS" in message_of(config, used())


def test_a_name_that_two_have_now_is_refused_with_the_one_that_was_used(plain_head, site):
    site("reid-plugin-small", "0.3.1", ["small"])
    site("reid-plugin-other", "1.0", ["small"])
    text = message_of(plain_head, used())
    assert text.startswith(
        "the run was made with head 'small' of reid-plugin-small 0.3.1, which cannot be used now: "
        "head 'small' is provided by 2 distributions"
    )
    assert "reid-plugin-small/small" in text


def test_who_names_another_distribution_has_chosen_it(tiny_recipe, site):
    site("reid-plugin-other", "1.0", ["small"])
    config = load_config(tiny_recipe, {"model.head": {"name": "reid-plugin-other/small"}})
    require_components(config, used())
    config = load_config(tiny_recipe, {"model.head": {"name": "Reid_Plugin_Small/small"}})
    assert "which is not installed" in message_of(config, used())


def test_what_the_config_names_no_more_may_be_gone(tiny_config):
    require_components(tiny_config, used())
    require_components(tiny_config, used("tiny_head", "reid-plugin-x", "1", kind="losses"))


def test_a_disabled_component_says_that_it_is(tiny_recipe, site):
    site("reid-plugin-small", "0.3.1", ["small"])
    changes = {"model.head": {"name": "small"}, "plugins.disable": ["reid-plugin-small"]}
    text = message_of(load_config(tiny_recipe, changes), used())
    assert "which cannot be used now: head 'small' of reid-plugin-small 0.3.1 is disabled" in text


def test_local_code_that_is_not_there_is_asked_for(plain_head, tiny_config):
    text = message_of(plain_head, used(dist="local", version="sha256:1"))
    assert text.startswith(
        "the run was made with head 'small' of local code, which is not there now; give its file "
        "by --plugin-file (a run folder has a copy in 'plugins'): unknown head 'small'"
    )
    assert "the name is local 0" in message_of(tiny_config, [SMALL])


def test_a_run_is_compared_by_the_list_in_its_folder(plain_head, tmp_path):
    folder = RunFolder(tmp_path / "run")
    require_components_of_run(plain_head, None, folder)
    require_components_of_run(plain_head, "auto", folder)
    entry = {"kind": "heads", "name": "small", "dist": "gone", "version": "2", "status": "ok"}
    folder.path.mkdir()
    (folder.path / "components.json").write_text(json.dumps([entry]))
    other = RunFolder(tmp_path / "other")
    for resume, where in [("auto", folder), (folder.path, other), (str(folder.path), other)]:
        with pytest.raises(PluginError, match=r"head 'small' of gone 2, which is not installed"):
            require_components_of_run(plain_head, resume, where)
    weights = folder.path / "weights" / "best.safetensors"
    with pytest.raises(PluginError, match=r"pip install 'gone==2'"):
        require_components_of_weights(plain_head, weights)
    require_components_of_weights(plain_head, tmp_path / "elsewhere" / "a" / "b.pth")


@pytest.mark.parametrize("text", [None, "{", '[{"kind": "heads"}]'])
def test_without_a_readable_list_the_checkpoint_is_asked(plain_head, tmp_path, text):
    folder = RunFolder(tmp_path / "run")
    entry = {"kind": "heads", "name": "small", "dist": "gone", "version": "2"}
    checkpoint = folder.checkpoints.save({"components": [entry]}, 1)
    if text is not None:
        (folder.path / "components.json").write_text(text)
    for resume in ("auto", folder.path, checkpoint):
        with pytest.raises(PluginError, match=r"head 'small' of gone 2, which is not installed"):
            require_components_of_run(plain_head, resume, folder)


def test_a_trainer_refuses_a_checkpoint_of_another_distributions_component(tiny_config):
    trainer = DefaultTrainer(tiny_config)
    trainer.resume_or_load()
    trainer.train()
    path = trainer.folder.checkpoints.paths()[0]
    state = torch.load(path, weights_only=True)
    for entry in state["components"]:
        if entry["name"] == "tiny_head":
            entry.update(dist="reid-plugin-small", version="0.3.1")
    torch.save(state, path)
    assert SMALL in used_components(state["components"])
    again = DefaultTrainer(tiny_config)
    with pytest.raises(PluginError, match=r"made with head 'tiny_head' of reid-plugin-small 0.3"):
        again.resume_or_load("auto")
