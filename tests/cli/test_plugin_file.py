"""Local code on the command line: it acts, it is kept with the run, a config cannot name it."""

from __future__ import annotations

import json

HOOK = """
from reid_core import hookimpl
from reid_core.plugins.registries import HOOKS, TRANSFORMS
from reid_core.data.transforms import ImageTransform


@HOOKS.register(name="shout")
class Shout:
    @hookimpl
    def after_epoch(self, epoch):
        print("epoch", epoch, "is over")


@TRANSFORMS.register(name="darken")
class Darken(ImageTransform):
    def __call__(self, image, rng):
        return image // 2
"""


def test_a_local_hook_and_transform_train_also_in_spawned_workers(run, small_osnet, tmp_path):
    (tmp_path / "my_code.py").write_text(HOOK)
    result = run(
        "reid-train",
        *small_osnet,
        *("--plugin-file", "my_code.py", "--set", "hooks=[shout]", "--set", "epochs=1"),
        *("--set", "data.transforms=[darken]", "--set", "data.workers=2"),
        *("--set", "data.start_method=spawn", "--output", "out"),
    )
    assert result.returncode == 0, result.stderr
    assert "epoch 0 is over" in result.stdout
    environment = json.loads((tmp_path / "out/env.json").read_text())
    (record,) = environment["plugin_files"]
    assert record["path"] == str(tmp_path / "my_code.py")
    assert (tmp_path / "out/plugins/my_code.py").read_text() == HOOK
    components = json.loads((tmp_path / "out/components.json").read_text())
    versions = {c["name"]: c["version"] for c in components if c["dist"] == "local"}
    assert versions == dict.fromkeys(("shout", "darken"), f"sha256:{record['sha256'][:12]}")


def test_check_and_evaluation_take_it_too(run, small_osnet, tmp_path):
    (tmp_path / "my_code.py").write_text(HOOK)
    file = ["--plugin-file", "my_code.py"]
    check = run("reid-config", "check", small_osnet[1], "--set", "hooks=[shout]", *file)
    assert check.returncode == 0, check.stderr
    options = ["--set", "hooks=[shout]", "--set", "epochs=1", "--output", "out"]
    assert run("reid-train", *small_osnet, *options, *file).returncode == 0
    assert run("reid-eval", "--checkpoint", "out", *file).returncode == 0


def test_without_the_file_the_name_is_unknown(run, small_osnet):
    result = run("reid-train", *small_osnet, "--set", "hooks=[shout]")
    assert result.returncode == 4
    assert "unknown hook 'shout'" in result.stderr


def test_a_configuration_cannot_name_code(run, small_osnet, tmp_path):
    (tmp_path / "my_code.py").write_text("raise SystemExit('it ran')")
    for text in ("hooks=[my_code:Shout]", "hooks=[my_code.Shout]", "plugin_files=[my_code.py]"):
        result = run("reid-train", *small_osnet, "--set", text)
        assert result.returncode in (2, 4), result.stderr
        assert "it ran" not in result.stderr


def test_what_it_registers_can_be_shown_although_no_distribution_has_it(run, tmp_path):
    (tmp_path / "my_code.py").write_text(HOOK)
    result = run("reid-plugins", "show", "shout", "--plugin-file", "my_code.py")
    assert result.returncode == 0, result.stderr
    assert "distribution  local sha256:" in result.stdout
    assert f"file          {tmp_path / 'my_code.py'}:7" in result.stdout
    assert "after_epoch(epoch)" in result.stdout
    assert "hooks:\n    - name: shout" in result.stdout
    assert run("reid-plugins", "show", "shout").returncode == 4


def test_a_file_that_is_not_there_is_a_usage_error(run, small_osnet):
    result = run("reid-train", *small_osnet, "--plugin-file", "none.py")
    assert result.returncode == 2
    assert "none.py does not exist" in result.stderr


def test_a_hook_that_exits_has_not_ended_the_run_well(run, small_osnet, tmp_path):
    (tmp_path / "my_code.py").write_text(
        HOOK.replace('print("epoch"', 'raise SystemExit(0, "epoch"')
    )
    options = ["--plugin-file", "my_code.py", "--set", "hooks=[shout]", "--output", "out"]
    result = run("reid-train", *small_osnet, *options)
    assert result.returncode == 1
    assert "training was ended by sys.exit(" in result.stderr
    assert "raised by hook 'shout' (plugin file " in result.stderr
    assert json.loads((tmp_path / "out/status.json").read_text())["state"] == "failed"


def test_hooks_can_be_traced(run, small_osnet):
    result = run("reid-train", *small_osnet, "--set", "epochs=1", "--trace-hooks")
    assert result.returncode == 0, result.stderr
    assert "step 0  before_step      lr_schedule  " in result.stderr
    assert "hook              id                     calls" in result.stderr
