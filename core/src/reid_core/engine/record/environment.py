"""The machine and the versions a run is made with, as far as they may change its numbers."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import torch

from reid_core.plugins.component_ref import ComponentRef
from reid_core.plugins.local_files import PluginFile
from reid_core.plugins.metadata import PLUGIN_API, installed_version

#: Variables that change what is computed, or how fast; no other one is written down.
_VARIABLE = re.compile(
    r"(OMP|MKL|KMP|GOMP|OPENBLAS|BLIS|VECLIB|NUMEXPR|DNNL|ONEDNN|ATEN|CUBLAS|CUDA|CUDNN|NCCL|GLOO|"
    r"HIP|ROCR|MIOPEN|TORCH|PYTORCH|TORCHINDUCTOR)_\w+|PYTHONHASHSEED|NVIDIA_TF32_OVERRIDE"
)


def environment(
    components: Sequence[ComponentRef],
    files: Mapping[PluginFile, str | None],
    *,
    num_processes: int = 1,
) -> dict[str, object]:
    """Return versions and hardware, as plain types.

    Args:
        components: What the run uses.
        files: The files with local code, each with the place of its copy in the run folder.
        num_processes: How many processes train together.
    """
    dists = sorted({ref.dist for ref in components} | {"torch", "torchvision", "numpy", "timm"})
    versions = {dist: installed_version(dist) for dist in dists}
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "device": str(accelerator or "cpu"),
        "cores": os.cpu_count(),
        "torch_threads": torch.get_num_threads(),
        "processes": num_processes,
        "host": platform.node(),
        "command": sys.argv,
        "plugin_api": PLUGIN_API,
        "plugin_files": [
            {"path": str(file.path), "sha256": file.sha256, "copy": copy}
            for file, copy in files.items()
        ],
        **{dist: version for dist, version in versions.items() if version},
        "hardware": dict(_hardware()),
        "torch_build": _torch_build(),
        "variables": {
            name: value for name, value in sorted(os.environ.items()) if _VARIABLE.fullmatch(name)
        },
    }


@cache
def _hardware() -> Mapping[str, object]:
    gpus = [torch.cuda.get_device_properties(n) for n in range(torch.cuda.device_count())]
    return {
        "cpu": _cpu_model(),
        "cpu_instructions": torch.backends.cpu.get_cpu_capability(),
        "memory_gib": _memory_gib(),
        "gpus": [f"{gpu.name}, {gpu.total_memory / 2**30:.0f} GiB" for gpu in gpus],
        "gpu_driver": _gpu_driver(),
    }


def _torch_build() -> dict[str, object]:
    return {
        "git": torch.version.git_version,
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "cudnn": torch.backends.cudnn.version(),  # type: ignore[no-untyped-call]
    }


def _cpu_model() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.processor() or platform.machine()


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None  # Windows and some others do not tell


def _gpu_driver() -> str | None:
    """Return the version of NVIDIA's driver, from where its module writes it."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r"\b(\d+\.\d+(?:\.\d+)?)\b", text)
    return found.group(1) if found else None
