"""The parts of an evaluation that a config names by component."""

from __future__ import annotations

from reid_core.config import Config
from reid_core.errors import PluginError
from reid_core.evaluation import Protocol, Reranker
from reid_core.evaluation.rerankers import check_chain
from reid_core.plugins.registries import PROTOCOLS, RERANKERS


def build_protocol(config: Config) -> Protocol:
    """Build the evaluation protocol a config names."""
    protocol = PROTOCOLS.build(config.evaluate.protocol.as_call())
    if not isinstance(protocol, Protocol):
        raise PluginError(
            f"protocol {config.evaluate.protocol.name} gave a {type(protocol).__name__}; "
            "expected a reid_core.evaluation.Protocol"
        )
    return protocol


def build_rerankers(config: Config) -> list[Reranker]:
    """Build the rerankers a config names, in its order.

    Raises:
        PluginError: A factory returns something else.
        UsageError: The order cannot work.
    """
    rerankers = []
    for component in config.evaluate.rerank:
        reranker = RERANKERS.build(component.as_call())
        if not isinstance(reranker, Reranker):
            raise PluginError(
                f"reranker {component.name} gave a {type(reranker).__name__}; "
                "expected a reid_core.evaluation.FeatureReranker or DistanceReranker"
            )
        rerankers.append(reranker)
    check_chain(rerankers)
    return rerankers
