from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from reid_core.checkpoint.weights import load_into
from reid_core.contracts import Backbone
from reid_plugin_osnet import osnet, osnet_ain, osnet_ibn
from reid_plugin_osnet.network import OSNet
from reid_plugin_osnet.osnet import osnet_x0_5, osnet_x0_25, osnet_x0_75, osnet_x1_0

#: Millions of multiply-adds at 256×128, from torchreid's model zoo.
PUBLISHED_MACS = {osnet_x1_0: 978.9, osnet_x0_75: 571.8, osnet_x0_5: 272.9, osnet_x0_25: 82.3}
#: Millions of parameters, from the same table.
PUBLISHED_PARAMETERS = {osnet_x1_0: 2.2, osnet_x0_75: 1.3, osnet_x0_5: 0.6, osnet_x0_25: 0.2}


FACTORIES = {
    **{name: getattr(osnet, name) for name in vars(osnet) if name.startswith("osnet_x")},
    **{name: getattr(osnet_ibn, name) for name in vars(osnet_ibn) if name.startswith("osnet_")},
    **{name: getattr(osnet_ain, name) for name in vars(osnet_ain) if name.startswith("osnet_")},
}


def multiply_adds(model: nn.Module, height: int, width: int) -> int:
    """Count the products of all convolutions and linear layers in one forward pass."""
    counts: list[int] = []

    def count(module: nn.Module, _: tuple[Tensor, ...], output: Tensor) -> None:
        assert isinstance(module, nn.Conv2d | nn.Linear)
        counts.append(output.numel() * module.weight[0].numel())

    for module in model.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            module.register_forward_hook(count)
    with torch.inference_mode():
        model(torch.zeros(1, 3, height, width))
    return sum(counts)


@pytest.mark.parametrize("factory", list(PUBLISHED_MACS))
def test_each_width_has_the_published_size(factory: Callable[[], OSNet]):
    model = factory().eval()
    millions = sum(p.numel() for p in model.parameters()) / 1e6
    assert round(millions, 1) == PUBLISHED_PARAMETERS[factory]
    assert round(multiply_adds(model, 256, 128) / 1e6, 1) == PUBLISHED_MACS[factory]


def test_there_are_three_networks_at_four_widths():
    widths = ("x1_0", "x0_75", "x0_5", "x0_25")
    assert set(FACTORIES) == {
        f"{network}_{width}" for network in ("osnet", "osnet_ibn", "osnet_ain") for width in widths
    }


@pytest.mark.parametrize("name", list(FACTORIES))
def test_each_factory_builds_its_own_network(name: str):
    model = FACTORIES[name]()
    width = float(name.rpartition("_x")[2].replace("_", "."))
    assert model.channels == tuple(int(c * width) for c in (64, 256, 384, 512))
    norms = {key for key in model.state_dict() if key.endswith(".IN.weight")}
    expected = {"ibn": {"conv2.0", "conv2.1"}, "ain": {"conv2.0", "conv2.1", "conv3.1", "conv4.0"}}
    variant = name.split("_")[1]
    assert norms == {f"{block}.IN.weight" for block in expected.get(variant, ())}
    assert ("conv1.bn.running_mean" in model.state_dict()) == (variant not in expected)


def test_the_smallest_width_has_exactly_the_parameters_of_the_released_file():
    assert sum(p.numel() for p in osnet_x0_25().parameters()) == 201_864


def test_the_embedding_is_a_map_of_one_pixel_that_is_never_negative():
    model = osnet_x0_25().eval()
    out = model(torch.randn(2, 3, 64, 32))
    assert out.shape == (2, 512, 1, 1)
    assert (model.feature_dim, model.num_prefix_tokens) == (512, None)
    assert (out >= 0).all()
    assert (out > 0).any()


@pytest.mark.parametrize(("factory", "channels"), [(osnet_x0_25, 128), (osnet_x0_5, 256)])
def test_the_map_has_a_sixteenth_of_the_resolution_and_no_embedding_layer(
    factory: Callable[..., OSNet], channels: int
):
    model = factory(embedding="map").eval()
    assert model(torch.randn(2, 3, 64, 32)).shape == (2, channels, 4, 2)
    assert model.feature_dim == channels
    assert not any(name.startswith("fc.") for name in model.state_dict())


def test_map_and_embedding_share_all_but_the_last_layer():
    whole = osnet_x0_25().eval()
    trunk = osnet_x0_25(embedding="map").eval()
    load_into(trunk, whole.state_dict(), source="whole", ignore=("fc.*",))
    images = torch.randn(2, 3, 64, 32)
    torch.testing.assert_close(trunk(images), whole.feature_map(images))


def test_it_is_a_backbone_as_the_contract_says():
    assert isinstance(osnet_x0_25(), Backbone)


def test_a_seed_gives_the_weights():
    def drawn(seed: int) -> Tensor:
        torch.manual_seed(seed)
        return torch.cat([p.detach().flatten() for p in osnet_x0_25().parameters()])

    assert torch.equal(drawn(0), drawn(0))
    assert not torch.equal(drawn(0), drawn(1))


def test_weights_start_as_published():
    model = osnet_x1_0()
    stem = model.conv1.conv.weight.detach()
    assert float(stem.std()) == pytest.approx((2 / (64 * 7 * 7)) ** 0.5, rel=0.05)
    assert model.fc is not None
    linear, norm = model.fc[0], model.fc[1]
    assert float(linear.weight.detach().std()) == pytest.approx(0.01, rel=0.02)
    assert not linear.bias.any()
    assert torch.equal(norm.weight, torch.ones(512))


def test_the_gradient_reaches_every_parameter():
    torch.manual_seed(0)
    model = osnet_x0_25()
    model(torch.randn(4, 3, 64, 32)).square().sum().backward()
    names = [name for name, _ in model.named_parameters()]
    unreached = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    # A gate of one hidden channel can be closed by its ReLU; nothing else may be.
    assert [n for n in unreached if ".gate." not in n] == []
    assert names[0] not in unreached
    assert names[-1] not in unreached


def test_in_evaluation_an_image_does_not_depend_on_its_batch_mates():
    model = osnet_x0_25().eval()
    images = torch.randn(4, 3, 64, 32, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        together = model(images)
        alone = torch.cat([model(image[None]) for image in images])
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-6)
