import pytest
import torch

from reid_core.evaluation import pairwise_distance
from reid_core.evaluation.distances.precision import full_float32


def sides():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(64, 512, generator=generator), torch.randn(90, 512, generator=generator)


@pytest.fixture
def reduced_precision():
    former = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    yield
    torch.set_float32_matmul_precision(former)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_autocast_of_training_does_not_reach_distances(metric):
    plain = pairwise_distance(*sides(), metric)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(pairwise_distance(*sides(), metric), plain)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_reduced_matrix_products_of_training_do_not_reach_distances(metric, request):
    plain = pairwise_distance(*sides(), metric)
    request.getfixturevalue("reduced_precision")
    assert torch.equal(pairwise_distance(*sides(), metric), plain)


def settings():
    """All that says how products are computed; a backend has its own since torch 2.9."""
    if not hasattr(torch.backends, "fp32_precision"):
        return [torch.get_float32_matmul_precision()]
    backends = (torch.backends.cuda.matmul, torch.backends.mkldnn.matmul)
    return [torch.get_float32_matmul_precision(), *(b.fp32_precision for b in backends)]


def test_the_former_precision_is_back_afterwards(reduced_precision):
    before = settings()
    pairwise_distance(*sides(), "cosine")
    assert settings() == before


def interrupted():
    with full_float32(torch.device("cpu")):
        raise KeyError("stop")


def test_the_former_precision_is_back_after_an_exception(reduced_precision):
    before = settings()
    with pytest.raises(KeyError, match="stop"):
        interrupted()
    assert settings() == before
