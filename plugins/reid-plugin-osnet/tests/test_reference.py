"""Each network against a second writing of it: plain functions of a state dict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from reid_core.checkpoint.weights import load_into
from reid_plugin_osnet.network import OSNet

GOLDEN = Path(__file__).resolve().parents[4] / "shared" / "golden"
FILES = {
    "plain": GOLDEN / "torchreid_osnet_x0_25.npz",
    "ibn": GOLDEN / "torchreid_osnet_ibn_x0_25.npz",
    "ain": GOLDEN / "torchreid_osnet_ain_x0_25.npz",
}
needs_golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason=f"no reference data at {GOLDEN}")
State = Mapping[str, Tensor]


def golden_state(arrays: np.lib.npyio.NpzFile) -> dict[str, Tensor]:
    return {
        key.removeprefix("state/"): torch.from_numpy(arrays[key])
        for key in arrays
        if key.startswith("state/")
    }


class Reference:
    """torchreid's computation, one operation after the other, told by the keys it finds.

    Batch statistics are used in training; running statistics are not moved.
    """

    def __init__(self, state: State, *, training: bool) -> None:
        self.state, self.training = state, training

    def norm(self, x: Tensor, key: str) -> Tensor:
        weight, bias = self.state[f"{key}.weight"], self.state[f"{key}.bias"]
        if f"{key}.running_mean" not in self.state:
            return F.instance_norm(x, weight=weight, bias=bias)
        mean, var = self.state[f"{key}.running_mean"], self.state[f"{key}.running_var"]
        if self.training:
            return F.batch_norm(x, None, None, weight, bias, training=True)
        return F.batch_norm(x, mean, var, weight, bias)

    def conv(self, x: Tensor, key: str, **options: int) -> Tensor:
        return self.norm(F.conv2d(x, self.state[f"{key}.conv.weight"], **options), f"{key}.bn")

    def light(self, x: Tensor, key: str) -> Tensor:
        x = F.conv2d(x, self.state[f"{key}.conv1.weight"])
        x = F.conv2d(x, self.state[f"{key}.conv2.weight"], padding=1, groups=x.shape[1])
        return torch.relu(self.norm(x, f"{key}.bn"))

    def gate(self, x: Tensor, key: str) -> Tensor:
        pooled = F.adaptive_avg_pool2d(x, 1)
        for layer, activation in (("fc1", torch.relu), ("fc2", torch.sigmoid)):
            weight, bias = self.state[f"{key}.{layer}.weight"], self.state[f"{key}.{layer}.bias"]
            pooled = activation(F.conv2d(pooled, weight, bias))
        return x * pooled

    def stream(self, x: Tensor, key: str, depth: int) -> Tensor:
        if f"{key}.conv2a.conv1.weight" not in self.state:
            names = [f"{key}.conv2.{depth - 1}.layers.{i}" for i in range(depth)]
        elif depth == 1:
            names = [f"{key}.conv2a"]
        else:
            names = [f"{key}.conv2{'abcd'[depth - 1]}.{i}" for i in range(depth)]
        for name in names:
            x = self.light(x, name)
        return x

    def block(self, x: Tensor, key: str) -> Tensor:
        reduced = torch.relu(self.conv(x, f"{key}.conv1"))
        mixed = torch.zeros_like(reduced)
        for depth in (1, 2, 3, 4):
            mixed = mixed + self.gate(self.stream(reduced, key, depth), f"{key}.gate")
        out = F.conv2d(mixed, self.state[f"{key}.conv3.conv.weight"])
        has_last_norm = f"{key}.conv3.bn.weight" in self.state
        has_instance_norm = f"{key}.IN.weight" in self.state
        out = self.norm(out, f"{key}.conv3.bn") if has_last_norm else self.norm(out, f"{key}.IN")
        if f"{key}.downsample.conv.weight" in self.state:
            x = self.conv(x, f"{key}.downsample")
        out = out + x
        if has_last_norm and has_instance_norm:
            out = self.norm(out, f"{key}.IN")
        return torch.relu(out)

    def __call__(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return the feature map and the embedding."""
        x = torch.relu(self.conv(images, "conv1", stride=2, padding=3))
        x = F.max_pool2d(x, 3, stride=2, padding=1)
        for stage in ("conv2", "conv3", "conv4"):
            x = self.block(self.block(x, f"{stage}.0"), f"{stage}.1")
            for transition in (f"{stage}.2.0", f"pool{stage[-1]}.0"):
                if f"{transition}.conv.weight" in self.state:
                    x = F.avg_pool2d(torch.relu(self.conv(x, transition)), 2)
        x = torch.relu(self.conv(x, "conv5"))
        vector = F.linear(x.mean(dim=(2, 3)), self.state["fc.0.weight"], self.state["fc.0.bias"])
        return x, torch.relu(self.norm(vector, "fc.1"))


def random_state(model: OSNet, seed: int) -> dict[str, Tensor]:
    """Return values for every tensor that keep the activations of a deep network in range."""
    generator = torch.Generator().manual_seed(seed)
    state = {}
    for key, value in model.state_dict().items():
        if key.endswith("num_batches_tracked"):
            continue
        drawn = torch.randn(value.shape, generator=generator)
        if value.dim() > 1:
            state[key] = drawn * (2 / value[0].numel()) ** 0.5
        elif key.endswith(("weight", "var")):
            state[key] = (1 + 0.2 * drawn).clamp(min=0.3)
        else:
            state[key] = 0.2 * drawn
    return state


@needs_golden
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("variant", ["plain", "ibn", "ain"])
def test_a_torchreid_model_gives_the_same_embedding_and_feature_map(
    variant: str, layout: torch.memory_format
):
    arrays = np.load(FILES[variant])
    model = OSNet(width=0.25, variant=variant)
    report = load_into(model, golden_state(arrays), source="golden", ignore=("classifier.*",))
    model = model.eval().to(memory_format=layout)
    images = torch.from_numpy(arrays["input"]).float().contiguous(memory_format=layout)

    with torch.inference_mode():
        embedding = model(images)
        feature_map_mean = model.feature_map(images).mean(dim=(2, 3))

    assert report.loaded_share == 1.0
    assert set(report.ignored) == {"classifier.weight", "classifier.bias"}
    np.testing.assert_allclose(
        embedding.flatten(1).numpy(), arrays["embedding"], rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(
        feature_map_mean.numpy(), arrays["feature_map_mean"], rtol=1e-4, atol=1e-6
    )


@needs_golden
@pytest.mark.parametrize("variant", ["plain", "ibn", "ain"])
def test_the_plain_functions_are_torchreids_computation(variant: str):
    arrays = np.load(FILES[variant])
    with torch.inference_mode():
        images = torch.from_numpy(arrays["input"]).float()
        feature_map, embedding = Reference(golden_state(arrays), training=False)(images)
    np.testing.assert_allclose(embedding.numpy(), arrays["embedding"], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        feature_map.mean(dim=(2, 3)).numpy(), arrays["feature_map_mean"], rtol=1e-4, atol=1e-6
    )


@needs_golden
@pytest.mark.parametrize("variant", ["plain", "ibn", "ain"])
def test_the_state_dict_has_torchreids_keys_and_shapes(variant: str):
    theirs = {k: tuple(v.shape) for k, v in golden_state(np.load(FILES[variant])).items()}
    ours = {
        k: tuple(v.shape)
        for k, v in OSNet(width=0.25, variant=variant).state_dict().items()
        if not k.endswith("num_batches_tracked")
    }
    assert ours == {k: v for k, v in theirs.items() if not k.startswith("classifier")}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    ("variant", "width", "seed"),
    [("plain", 0.5, 0), ("ibn", 0.5, 1), ("ain", 0.5, 2), ("ain", 0.75, 3), ("plain", 1.0, 4)],
)
def test_embedding_and_gradients_are_those_of_the_plain_functions(
    variant: str, width: float, seed: int, training: bool
):
    # float64, for ReLUs turn rounding into jumps of the gradient.
    model = OSNet(width=width, variant=variant)
    model.load_state_dict(random_state(model, seed), strict=False)
    model = model.double().train(training)
    leaves = {k: v.detach().clone() for k, v in model.state_dict().items()}
    names = [name for name, _ in model.named_parameters()]
    for name in names:
        leaves[name].requires_grad_()
    generator = torch.Generator().manual_seed(seed)
    images = torch.randn(4, 3, 64, 32, generator=generator, dtype=torch.float64)
    weights = torch.randn(4, 512, generator=generator, dtype=torch.float64)

    out = model(images.requires_grad_()).flatten(1)
    _, expected = Reference(leaves, training=training)(images)
    grads = torch.autograd.grad((out * weights).sum(), [images, *model.parameters()])
    slow = torch.autograd.grad(
        (expected * weights).sum(), [images, *(leaves[name] for name in names)]
    )

    torch.testing.assert_close(out, expected, rtol=1e-9, atol=1e-9)
    for name, grad, loop in zip(["images", *names], grads, slow, strict=True):
        scale = float(loop.abs().max())
        torch.testing.assert_close(
            grad, loop, rtol=1e-6, atol=1e-7 * (scale + 1e-3), msg=lambda m, n=name: f"{n}: {m}"
        )
