from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest
import torch

from reid_core.engine.record import environment as module
from reid_core.engine.record.environment import environment
from reid_core.plugins.component_ref import ComponentRef
from reid_core.plugins.local_files import PluginFile


def test_versions_machine_and_processes_are_stated():
    ref = ComponentRef("losses", "l", "m:L", "pluggy", "1", "ok")
    found = environment([ref], {}, num_processes=3)
    assert json.loads(json.dumps(found)) == found
    assert (found["python"], found["processes"]) == (platform.python_version(), 3)
    assert found["torch"] == torch.__version__.partition("+")[0]
    assert {"pluggy", "numpy", "torchvision"} <= found.keys()
    assert found["torch_build"]["git"] == torch.version.git_version
    hardware = found["hardware"]
    assert hardware["cpu"]
    assert hardware["memory_gib"] > 0
    assert hardware["cpu_instructions"] == torch.backends.cpu.get_cpu_capability()
    assert len(hardware["gpus"]) == torch.cuda.device_count()


def test_local_code_is_stated_with_hash_and_copy():
    file = PluginFile(Path("/home/me/my_hook.py"), "my_hook", b"x = 1")
    (entry,) = environment([], {file: "plugins/my_hook.py"})["plugin_files"]
    assert entry == {
        "path": "/home/me/my_hook.py",
        "sha256": file.sha256,
        "copy": "plugins/my_hook.py",
    }


@pytest.mark.parametrize(
    ("name", "is_kept"),
    [
        ("OMP_NUM_THREADS", True),
        ("MKL_CBWR", True),
        ("CUBLAS_WORKSPACE_CONFIG", True),
        ("CUDA_VISIBLE_DEVICES", True),
        ("NVIDIA_TF32_OVERRIDE", True),
        ("PYTHONHASHSEED", True),
        ("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", True),
        ("MY_API_KEY", False),
        ("NVIDIA_API_KEY", False),
        ("HOME", False),
    ],
)
def test_variables_that_change_numbers_are_stated_and_no_others(monkeypatch, name, is_kept):
    monkeypatch.setenv(name, "7")
    assert (environment([], {})["variables"].get(name) == "7") is is_kept


def test_the_driver_is_read_from_where_its_module_writes_it(monkeypatch):
    text = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.124.06  Wed Feb 26\nGCC 12.2.0\n"
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: text)
    assert module._gpu_driver() == "570.124.06"
    assert module._cpu_model() == (platform.processor() or platform.machine())
