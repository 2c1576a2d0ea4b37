"""Any loss of pytorch-metric-learning, with or without a miner and a memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_pml.build import build
from reid_plugin_pml.memory import RememberingLoss
from reid_plugin_pml.mining import CountingMiner
from reid_plugin_pml.sizes import fixed_length, sizes_for


class PmlLoss(nn.Module):
    """A loss of pytorch-metric-learning over the head's features, the mean over its branches.

    The value is the library's own, computed in float32. Parameters are compared with its signatures
    before anything is trained. A parameter that is an object of the library is written by its name,
    or as ``{name: …}`` with parameters of its own.

    A loss with parameters (proxies, say) or a memory has one object for each branch, in the order
    in which the head gives them; ``num_branches`` says how many. Another loss serves all branches.

    Args:
        loss: Name of a class of ``pytorch_metric_learning.losses``.
        num_classes: Training identities; the trainer knows how many.
        feature_dim: Length of the head's embedding; likewise.
        loss_params: Parameters of the loss; ``num_classes`` and ``embedding_size`` are filled in.
        miner: Name of a class of ``pytorch_metric_learning.miners``, or None: the loss then takes
            what it takes by itself, mostly all pairs or triplets.
        miner_params: Parameters of the miner.
        distance: Name of a class of ``pytorch_metric_learning.distances``, for the loss and the
            miner; None is the default of each.
        distance_params: Parameters of the distance.
        reducer: Name of a class of ``pytorch_metric_learning.reducers``, for the loss; None is its
            default.
        reducer_params: Parameters of the reducer.
        memory: Features of earlier batches to compare with, at least a batch; None is none.
            Several processes then need ``gather: true``.
        embedding_size: Length of the features, where it is not the embedding's.
        num_branches: Branches of a head, for a loss that has an object for each.
        lr_factor: Learning rate of the loss's parameters, in units of the run's, above 0.

    Raises:
        ConfigError: A class, a parameter or a value that the library does not have or take.

    Source: Musgrave et al., "PyTorch Metric Learning", 2020; each loss names its paper there.
    """

    def __init__(
        self,
        *,
        loss: str,
        num_classes: int | None = None,
        feature_dim: int | None = None,
        loss_params: Mapping[str, object] | None = None,
        miner: str | None = None,
        miner_params: Mapping[str, object] | None = None,
        distance: str | None = None,
        distance_params: Mapping[str, object] | None = None,
        reducer: str | None = None,
        reducer_params: Mapping[str, object] | None = None,
        memory: int | None = None,
        embedding_size: int | None = None,
        num_branches: int = 1,
        lr_factor: float = 1.0,
    ) -> None:
        super().__init__()
        _require_range(memory, num_branches, lr_factor)
        _require_names(
            miner=(miner, miner_params),
            distance=(distance, distance_params),
            reducer=(reducer, reducer_params),
        )
        sizes = {"num_classes": num_classes, "embedding_size": embedding_size or feature_dim}
        shared = {} if distance is None else {"distance": _call(distance, distance_params)}
        of_loss = (
            shared if reducer is None else {**shared, "reducer": _call(reducer, reducer_params)}
        )
        needed = sizes_for(loss, loss_params, sizes)
        loss_keywords = {**of_loss, **(loss_params or {}), **needed}
        self.name = loss
        #: Length that the features must have; None where any will do.
        self.embedding_size = fixed_length(loss, needed, sizes, memory)
        self.lr_factor = lr_factor
        self.parts = nn.ModuleList()
        for _ in range(num_branches):
            made = build("losses", loss, loss_keywords)
            mined = None
            if miner is not None:
                mined = CountingMiner(build("miners", miner, {**shared, **(miner_params or {})}))
            if memory is not None:
                assert self.embedding_size is not None
                made = RememberingLoss(
                    loss=made, embedding_size=self.embedding_size, size=memory, miner=mined
                )
            self.parts.append(_Part(made, mined))
        #: Several processes would remember each its own share.
        self.needs_gather = memory is not None
        self.has_own_parts = memory is not None or any(True for _ in self.parameters())
        self._last: dict[str, Tensor] = {}

    def forward(self, output: HeadOutput, batch: Batch) -> Tensor:
        """Compute the loss.

        Args:
            output: Its ``features`` are read, each (B, D).
            batch: Its ``pids`` (B,) int64 are read, 0 to num_classes − 1.

        Returns:
            () float32, or float64 when the features are.

        Raises:
            ConfigError: The head gave no features, another number of branches than there are
                objects, or features of another length than these were built for.
        """
        values, counts = [], []
        for part, features in self._pairs(output):
            with torch.autocast(features.device.type, enabled=False):
                wide = features.to(torch.promote_types(features.dtype, torch.float32))
                values.append(part(wide, batch.pids))
            counts.append(part.counts(features.device))
        self._last = {name: torch.stack([one[name] for one in counts]).mean() for name in counts[0]}
        return torch.stack(values).mean()

    def metrics(self) -> dict[str, Tensor]:
        """Describe the last call of :meth:`forward`, averaged over the branches.

        Returns:
            Detached () float32 scalars: ``mined_triplets``, or ``mined_positive_pairs`` and
            ``mined_negative_pairs``, whichever the miner finds; empty without a miner.
        """
        return dict(self._last)

    def parameter_groups(self) -> list[dict[str, object]]:
        """Hand over the loss's parameters, with ``lr_factor`` as the factor on the run's rate."""
        parameters = list(self.parameters())
        return [{"params": parameters, "lr_factor": self.lr_factor}] if parameters else []

    def _pairs(self, output: HeadOutput) -> Iterator[tuple[_Part, Tensor]]:
        """Return each branch's features with what they are given to."""
        if not output.features:
            raise ConfigError(
                "pml: the head gave no features, expected at least one entry; choose a head with "
                "metric features, such as bnneck, or take pml out of model.losses"
            )
        names = list(output.features)
        if self.has_own_parts:
            if len(names) != len(self.parts):
                raise ConfigError(
                    f"pml: {self.name} has parameters or a memory for each of {len(self.parts)} "
                    f"branches, the head gives {len(names)} ({', '.join(names)}); set num_branches "
                    f"to {len(names)}, or choose some with branches"
                )
            for name, features in output.features.items():
                self._require_length(name, features)
        for position, features in enumerate(output.features.values()):
            part = self.parts[position if self.has_own_parts else 0]
            assert isinstance(part, _Part)
            yield part, features

    def _require_length(self, name: str, features: Tensor) -> None:
        if self.embedding_size is not None and features.shape[1] != self.embedding_size:
            raise ConfigError(
                f"pml: {self.name} was built for features of length {self.embedding_size}, those "
                f"of branch {name} have {features.shape[1]}; set embedding_size to "
                f"{features.shape[1]}"
            )


class _Part(nn.Module):
    """A loss of the library, or one that remembers, with its miner."""

    def __init__(self, loss: nn.Module, miner: CountingMiner | None) -> None:
        super().__init__()
        self.loss = loss
        self.miner = miner

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Return the loss () of (B, D) features with (B,) labels."""
        # What remembers mines among its memory by itself.
        if self.miner is None or isinstance(self.loss, RememberingLoss):
            value: Tensor = self.loss(embeddings, labels)
        else:
            value = self.loss(embeddings, labels, self.miner(embeddings, labels))
        _detach_statistics(self.loss)
        # Some reducers return one element instead of a scalar.
        return value.reshape(())

    def counts(self, device: torch.device) -> dict[str, Tensor]:
        """Return what the miner found in the last call, () float32 on ``device``."""
        if self.miner is None:
            return {}
        # Filled on the device: a tensor of a number would be copied there.
        return {
            name: torch.full((), float(count), device=device)
            for name, count in self.miner.counts.items()
        }


def _detach_statistics(loss: nn.Module) -> None:
    """Cut running statistics off the graph of this step, which the next one could not go back."""
    for module in loss.modules():
        for name, value in list(module.named_buffers(recurse=False)):
            if value.requires_grad:
                setattr(module, name, value.detach())


def _call(name: str, params: Mapping[str, object] | None) -> dict[str, object]:
    return {**(params or {}), "name": name}


def _require_range(memory: int | None, num_branches: int, lr_factor: float) -> None:
    if memory is not None and memory < 1:
        raise ConfigError(f"pml: memory: got {memory}, expected at least 1, for example 1024")
    if num_branches < 1:
        raise ConfigError(f"pml: num_branches: got {num_branches}, expected at least 1")
    if not 0 < lr_factor < math.inf:
        raise ConfigError(
            f"pml: lr_factor: got {lr_factor}, expected a number above 0, for example 10"
        )


def _require_names(**parts: tuple[str | None, Mapping[str, object] | None]) -> None:
    for key, (name, params) in parts.items():
        if params and name is None:
            raise ConfigError(f"pml: {key}_params is given without {key}; name the class as {key}")
