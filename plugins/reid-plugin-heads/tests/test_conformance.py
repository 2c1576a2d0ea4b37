"""The components of this package keep what the framework asks of them."""

from collections.abc import Mapping

from reid_core.plugins.index import installed
from reid_core.testing import HeadConformance, ModelConformance
from reid_core.testing.tiny_branching import (
    TinyBranchingBackbone,
    TinyBranchingTransformer,
    tiny_branching_parts,
)

DIST = "reid-plugin-heads"


class TestBNNeck(HeadConformance):
    name = "bnneck"
    dist = DIST
    inputs = ("map", "tokens")


class TestBNNeckReduced(HeadConformance):
    name = "bnneck"
    dist = DIST
    parameters = {
        "pooling": "gem_learned",
        "embedding_dim": 8,
        "metric_feature": "after",
        "test_feature": "before",
    }


class TestBNNeckClassToken(HeadConformance):
    name = "bnneck"
    dist = DIST
    inputs = ("tokens",)
    parameters = {"pooling": "class_token"}


class TestLinear(HeadConformance):
    name = "linear"
    dist = DIST
    inputs = ("map", "tokens")


class TestEmbedding(HeadConformance):
    name = "embedding"
    dist = DIST
    inputs = ("map", "tokens")


class TestEmbeddingReducedMargin(HeadConformance):
    name = "embedding"
    dist = DIST
    parameters = {
        "pooling": "gem_learned",
        "gem_exponent": 4.0,
        "neck": "reduction_bnneck",
        "embedding_dim": 8,
        "metric_feature": "pooled",
        "classifier": "arcface",
        "scale": 30.0,
    }


class TestEmbeddingPlain(HeadConformance):
    name = "embedding"
    dist = DIST
    inputs = ("map", "tokens")
    parameters = {"pooling": "attention", "neck": "none", "classifier": "circle_softmax"}


class TestEmbeddingSubcenters(HeadConformance):
    name = "embedding"
    dist = DIST
    inputs = ("tokens",)
    parameters = {
        "pooling": "token_mean",
        "neck": "reduction",
        "embedding_dim": 8,
        "classifier": "subcenter_arcface",
        "centers": 2,
    }


class TestAttribute(HeadConformance):
    name = "attribute"
    dist = DIST
    inputs = ("map", "tokens")
    parameters = {"num_attributes": 7, "classifier": "cosface"}


class TestPCB(HeadConformance):
    name = "pcb"
    dist = DIST
    parameters = {"stripes": 3, "reduced_dim": 8}


class TestPCBSeparate(HeadConformance):
    name = "pcb"
    dist = DIST
    parameters = {
        "stripes": 2,
        "reduced_dim": 8,
        "reduction": "separate",
        "metric_feature": "pooled",
        "test_feature": "reduced",
    }


class TestMGN(ModelConformance):
    name = "mgn"
    dist = DIST

    def parts(self, num_classes: int | None) -> Mapping[str, object]:
        return tiny_branching_parts(TinyBranchingBackbone(), num_classes)


class TestMGNOfFastReID(TestMGN):
    parameters = {
        "neck": "reduction_bnneck",
        "embedding_dim": 8,
        "pooling": "gem_learned",
        "metric_feature": "after",
        "metric_branches": "fastreid",
        "classifier": "circle_softmax",
    }


class TestTransReID(ModelConformance):
    name = "transreid"
    dist = DIST

    def parts(self, num_classes: int | None) -> Mapping[str, object]:
        return tiny_branching_parts(TinyBranchingTransformer(), num_classes)


class TestTransReIDWithoutLocalBranch(ModelConformance):
    name = "transreid"
    dist = DIST
    parameters = {"jpm": False, "test_feature": "after"}

    def parts(self, num_classes: int | None) -> Mapping[str, object]:
        return tiny_branching_parts(TinyBranchingTransformer(), num_classes)


class TestLMBN(ModelConformance):
    name = "lmbn"
    dist = DIST
    parameters = {"embedding_dim": 32}

    def parts(self, num_classes: int | None) -> Mapping[str, object]:
        return tiny_branching_parts(TinyBranchingBackbone(), num_classes)


class TestLMBNWithRandomBand(TestLMBN):
    parameters = {"embedding_dim": 8, "erase": "band", "pooling": "max", "normalize": False}


def test_every_component_of_the_package_is_here() -> None:
    classes = [one for one in globals().values() if isinstance(one, type)]
    checked = {(one.kind, one.name) for one in classes if getattr(one, "dist", "") == DIST}
    refs = [ref for ref in installed().refs if ref.dist == DIST and not ref.alias_of]
    assert checked == {(ref.kind, ref.name) for ref in refs}
