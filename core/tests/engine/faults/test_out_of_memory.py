"""Memory that runs out: what is said of it, with errors of torch's own making and fakes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.engine.faults.out_of_memory import explained_out_of_memory, is_out_of_memory
from reid_core.errors import TrainingError


def too_much():
    """Ask the allocator of the CPU for what no machine has."""
    return torch.empty(2**50, dtype=torch.uint8)


class Trainer(DefaultTrainer):
    error = None
    fails_at = 2

    def compute_gradients(self, batch):
        if self.iter == self.fails_at:
            if self.error is None:
                too_much()
            raise self.error
        return super().compute_gradients(batch)


def message(recipe, folder, error=None, **settings):
    plain = {"output": str(folder), "evaluate.every": 0}
    plain |= {key.replace("__", "."): value for key, value in settings.items()}
    trainer = Trainer(load_config(recipe, plain))
    trainer.error = error
    with pytest.raises(TrainingError) as caught:
        trainer.train()
    assert caught.value.exit_code == 1
    assert error is None or caught.value.__cause__ is error
    return str(caught.value)


def test_a_step_names_what_to_lower_with_its_value(tiny_recipe, tmp_path):
    error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.\nMore.")
    assert message(tiny_recipe, tmp_path / "run", error, data__workers=1).splitlines() == [
        "out of memory in step 2: CUDA out of memory. Tried to allocate 20.00 MiB.",
        "lower one of these, the first costs least:",
        "  train.micro_batch (now the whole batch): the same gradients, in chunks",
        "  train.gradient_checkpointing=true (now false): the same gradients, computed twice",
        "  train.precision=bf16 (now fp32)",
        "  data.batch (now identities 3, instances 4): fewer images in a batch",
        "  data.image_size (now [32, 16])",
        "  data.workers (now 1): each keeps batches in memory",
    ]


def test_what_is_on_already_is_not_proposed(tiny_recipe, tmp_path):
    settings = {"train__precision": "bf16", "train__micro_batch": 6}
    text = message(tiny_recipe, tmp_path / "run", MemoryError(), **settings)
    assert text.startswith("out of memory in step 2: MemoryError\n")
    assert "train.micro_batch (now 6)" in text
    assert "train.precision" not in text


def test_the_allocator_of_the_cpu_is_known(tiny_recipe, tmp_path):
    text = message(tiny_recipe, tmp_path / "run")
    assert "train.micro_batch (now the whole batch)" in text
    assert "1125899906842624 bytes" in text, "torch says how much was asked for"


def test_an_evaluation_names_its_own_settings(tiny_config, monkeypatch):
    trainer = DefaultTrainer(tiny_config)
    monkeypatch.setattr(trainer.evaluators[0], "evaluate", lambda *_: too_much())
    with pytest.raises(TrainingError) as caught:
        trainer.test()
    assert str(caught.value).splitlines()[0].startswith("out of memory in the evaluation: ")
    assert str(caught.value).splitlines()[2:] == [
        "  evaluate.batch_size (now 128): changes no figure",
        "  data.image_size (now [32, 16])",
    ]


def test_the_memory_of_a_gpu_is_told(tiny_config, monkeypatch):
    sizes = {"memory_allocated": 60 * 2**30, "max_memory_allocated": 75 * 2**30}
    for name, value in sizes.items():
        monkeypatch.setattr(torch.cuda, name, lambda device, value=value: value)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (2**29, 80 * 2**30))
    trainer = SimpleNamespace(iter=7, config=tiny_config, device=torch.device("cuda"))
    with (
        pytest.raises(
            TrainingError,
            match=r"GPU memory: 60.0 GiB in tensors now, 75.0 at most, 0.5 free of 80.0",
        ),
        explained_out_of_memory(trainer, "step"),
    ):
        raise torch.OutOfMemoryError("CUDA out of memory.")


def test_other_errors_are_left_as_they_are(tiny_config):
    trainer = SimpleNamespace(iter=7, config=tiny_config, device=torch.device("cpu"))
    error = RuntimeError("mat1 and mat2 shapes cannot be multiplied")
    assert not is_out_of_memory(error)
    with pytest.raises(RuntimeError) as caught, explained_out_of_memory(trainer, "step"):
        raise error
    assert caught.value is error
