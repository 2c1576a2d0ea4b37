"""Key names of released re-identification weights, brought to those of timm's networks."""

from __future__ import annotations

import re
from collections.abc import Mapping

from timm.models.resnet import ResNet
from torch import Tensor, nn

from reid_core.errors import CheckpointError
from reid_plugin_timm.ibn import InstanceBatchNorm, split_norm_state
from reid_plugin_timm.non_local import SUFFIX, NonLocal

#: Where a whole model of another toolbox keeps its backbone.
_PARTS = ("backbone.", "base.")
#: The squeeze-and-excitation layers of IBN-Net and FastReID against timm's.
_EXCITATION = {".se.fc.0.weight": ".se.fc1", ".se.fc.2.weight": ".se.fc2"}
_NON_LOCAL = re.compile(r"NL_([1-4])\.(\d+)\.(.+)")


def backbone_part(state: Mapping[str, Tensor], network: nn.Module) -> dict[str, Tensor]:
    """Return the backbone of a whole model (FastReID, BoT, AGW, TransReID), or ``state`` itself.

    Args:
        state: Tensors by key.
        network: The network that shall load them.
    """
    for prefix in _PARTS:
        is_own = hasattr(network, prefix.rstrip("."))
        part = {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
        if part and not is_own:
            return part
    return dict(state)


def rename_released(
    state: Mapping[str, Tensor], network: nn.Module, *, source: str
) -> dict[str, Tensor]:
    """Bring the keys of a ResNet's weights to those of the network, with its IBN and non-local.

    Weights without IBN are cut in two where the network has it. Other networks' keys stay as they
    are.

    Args:
        state: Tensors by key.
        network: The network that shall load them.
        source: Where they came from, for messages.

    Raises:
        CheckpointError: The weights have IBN or non-local blocks, and the network has not.
    """
    if not isinstance(network, ResNet):
        return dict(state)
    renamed = _rename_excitation(state)
    renamed = _rename_non_local(renamed, network, source)
    _check_ibn(renamed, network, source)
    return _match_ibn(renamed, network)


def fresh_patterns(state: Mapping[str, Tensor], network: nn.Module) -> tuple[str, ...]:
    """Return patterns of the keys that plain weights lack, and that keep their first values."""
    if not isinstance(network, ResNet):
        return ()
    patterns = [] if any(SUFFIX in key for key in state) else [f"layer*{SUFFIX}.*"]
    if not any(".IN." in key for key in state):
        patterns.append("layer*.IN.*")
    return tuple(patterns)


def _rename_excitation(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    renamed: dict[str, Tensor] = {}
    for key, value in state.items():
        theirs = next((end for end in _EXCITATION if key.endswith(end)), None)
        if theirs is None:
            renamed[key] = value
            continue
        layer = key.removesuffix(theirs) + _EXCITATION[theirs]
        # A linear layer without bias there, a 1×1 convolution with one here.
        renamed[f"{layer}.weight"] = value[:, :, None, None]
        renamed[f"{layer}.bias"] = value.new_zeros(value.shape[0])
    return renamed


def _rename_non_local(
    state: Mapping[str, Tensor], network: nn.Module, source: str
) -> dict[str, Tensor]:
    places: dict[int, list[str]] = {}
    for stage in range(1, 5):
        blocks = network.get_submodule(f"layer{stage}").named_children()
        places[stage] = [key for key, block in blocks if isinstance(block, NonLocal)]
    renamed: dict[str, Tensor] = {}
    for key, value in state.items():
        match = _NON_LOCAL.fullmatch(key)
        if match is None:
            renamed[key] = value
            continue
        stage, number, rest = int(match[1]), int(match[2]), match[3]
        if number >= len(places[stage]):
            raise CheckpointError(_missing_non_local(state, source))
        renamed[f"layer{stage}.{places[stage][number]}.{rest}"] = value
    return renamed


def _missing_non_local(state: Mapping[str, Tensor], source: str) -> str:
    counts, inner = [0, 0, 0, 0], 0
    for key, value in state.items():
        match = _NON_LOCAL.fullmatch(key)
        if match is not None and match[3] == "g.weight":
            counts[int(match[1]) - 1] += 1
            inner = value.shape[0]
    channels = "one" if inner == 1 else "half"
    return (
        f"{source} has non-local blocks that the model has not; set `non_local: {counts}` and "
        f"`non_local_channels: {channels}`"
    )


def _check_ibn(state: Mapping[str, Tensor], network: ResNet, source: str) -> None:
    """Refuse weights with an IBN that the network has not."""
    for keys, kind in (
        ([key for key in state if ".bn1.IN." in key], "a"),
        ([key for key in state if ".IN." in key and ".bn1." not in key], "b"),
    ):
        if keys and keys[0] not in network.state_dict():
            raise CheckpointError(f"{source} has IBN-{kind} ({keys[0]}); set `ibn: {kind}`")


def _match_ibn(state: Mapping[str, Tensor], network: ResNet) -> dict[str, Tensor]:
    """Cut plain normalisations in two where the network mixes them."""
    matched = dict(state)
    for name, part in network.named_modules():
        prefix = f"{name}."
        if isinstance(part, InstanceBatchNorm) and f"{prefix}weight" in state:
            matched = {key: v for key, v in matched.items() if not key.startswith(prefix)}
            matched |= split_norm_state(state, prefix)
    if isinstance(network.bn1, nn.InstanceNorm2d):
        # The statistics of a plain stem are of no use to an instance normalisation.
        unused = {"bn1.running_mean", "bn1.running_var", "bn1.num_batches_tracked"}
        matched = {key: value for key, value in matched.items() if key not in unused}
    return matched
