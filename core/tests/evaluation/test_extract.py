import weakref

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from reid_core.contracts import Batch
from reid_core.errors import DataError, PluginError
from reid_core.evaluation import extract_embeddings

CPU = torch.device("cpu")


class Model(nn.Module):
    """The mean colour through batch norm, whose answer depends on the mode."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.frozen = nn.Dropout()

    def embed(self, images):
        return self.frozen(self.norm(images.mean(dim=(2, 3))))


def images(size, seed=0):
    return torch.rand(size, 3, 4, 2, generator=torch.Generator().manual_seed(seed))


def batches(data, sizes, index=None):
    index = torch.arange(len(data)) if index is None else index
    for rows in torch.arange(len(data)).split(sizes):
        zeros = torch.zeros(len(rows), dtype=torch.int64)
        yield Batch(images=data[rows], pids=zeros, camids=zeros, index=index[rows])


def in_evaluation(data):
    model = Model().eval()
    with torch.no_grad():
        return model.embed(data)


def test_rows_are_the_embeddings_in_evaluation_mode():
    data = images(10)
    features = extract_embeddings(Model().train(), batches(data, 4), CPU)
    assert features.shape == (10, 3)
    assert features.dtype == torch.float32
    torch.testing.assert_close(features, in_evaluation(data))


def test_the_batch_size_changes_nothing_and_one_image_is_enough():
    data = images(9)
    by_four = extract_embeddings(Model(), batches(data, 4), CPU)
    by_one = extract_embeddings(Model(), batches(data, 1), CPU)
    torch.testing.assert_close(by_four, by_one)


def test_rows_are_put_in_the_order_of_the_data_set_however_they_arrive():
    data = images(10)
    arrival = torch.randperm(10, generator=torch.Generator().manual_seed(1))
    features = extract_embeddings(Model(), batches(data[arrival], 4, index=arrival), CPU)
    torch.testing.assert_close(features, in_evaluation(data))


def test_a_part_of_a_data_set_keeps_its_order():
    data = images(4)
    features = extract_embeddings(
        Model(), batches(data, 2, index=torch.tensor([90, 7, 50, 8])), CPU
    )
    torch.testing.assert_close(features, in_evaluation(data[[1, 3, 2, 0]]))


@pytest.mark.parametrize("mode", [True, False])
def test_every_module_has_its_former_mode_afterwards(mode):
    model = Model().train(mode)
    model.frozen.eval()
    extract_embeddings(model, batches(images(4), 2), CPU)
    assert (model.training, model.norm.training, model.frozen.training) == (mode, mode, False)


def failing_batches():
    yield from batches(images(4), 2)
    raise OSError("image 4 is damaged")


def test_every_module_has_its_former_mode_after_an_exception():
    model = Model().train()
    model.frozen.eval()
    with pytest.raises(OSError, match="image 4 is damaged"):
        extract_embeddings(model, failing_batches(), CPU)
    assert (model.training, model.norm.training, model.frozen.training) == (True, True, False)


def test_statistics_of_the_model_are_left_alone():
    model = Model().train()
    before = model.norm.running_mean.clone()
    extract_embeddings(model, batches(images(8), 4), CPU)
    assert torch.equal(model.norm.running_mean, before)


def test_the_result_is_an_ordinary_tensor_without_gradient():
    features = extract_embeddings(Model(), batches(images(4), 4), CPU)
    assert not features.is_inference()
    assert not features.requires_grad


def test_half_precision_comes_back_as_float32():
    class Half(Model):
        def embed(self, images):
            return super().embed(images).bfloat16()

    assert extract_embeddings(Half(), batches(images(4), 2), CPU).dtype == torch.float32


def test_no_batch_is_an_error():
    with pytest.raises(DataError, match="no batch"):
        extract_embeddings(Model(), [], CPU)


def test_an_image_that_comes_twice_is_an_error():
    index = torch.tensor([0, 1, 2, 0])
    with pytest.raises(DataError, match="1 images came more than once, the first is row 0"):
        extract_embeddings(Model(), batches(images(4), 2, index=index), CPU)


def test_a_told_number_of_images_changes_nothing():
    data = images(10)
    arrival = torch.randperm(10, generator=torch.Generator().manual_seed(1))
    for index in (torch.arange(10), arrival):
        features = extract_embeddings(
            Model(), batches(data[index], 4, index=index), CPU, num_images=10
        )
        assert torch.equal(features, extract_embeddings(Model(), batches(data, 4), CPU))
        assert not features.is_inference()


@pytest.mark.parametrize(("told", "got"), [(9, "10 or more"), (11, "10")])
def test_more_or_fewer_images_than_told_are_an_error(told, got):
    with pytest.raises(DataError, match=f"the loader gave {got} images; expected {told}"):
        extract_embeddings(Model(), batches(images(10), 5), CPU, num_images=told)


class Tables(TorchDispatchMode):
    """Counts the memory blocks of a whole table that are made."""

    def __init__(self, num_bytes):
        super().__init__()
        self.num_bytes, self.made = num_bytes, set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            block = result.untyped_storage()
            if block.nbytes() >= self.num_bytes:
                self.made.add(block.data_ptr())
        return result


class Watched(Model):
    """Sees how many of its embeddings somebody keeps."""

    def __init__(self):
        super().__init__()
        self.answers, self.kept = [], []

    def embed(self, images):
        self.kept.append(sum(answer() is not None for answer in self.answers))
        answer = torch.ones(len(images), 256)
        self.answers.append(weakref.ref(answer))
        return answer


# B170, kin: one table, not the parts of one and then the whole beside them.
def test_of_a_told_number_memory_holds_the_embeddings_once():
    told, untold = Watched(), Watched()
    with Tables(12 * 256 * 4) as tables:
        extract_embeddings(told, batches(images(12), 2), CPU, num_images=12)
    extract_embeddings(untold, batches(images(12), 2), CPU)
    assert len(tables.made) == 1
    assert max(told.kept) <= 1
    assert untold.kept == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("shape", [(2,), (3, 5), (2, 5, 1)])
def test_an_answer_that_is_no_embedding_a_row_names_the_model(shape):
    class Wrong(Model):
        def embed(self, images):
            return torch.zeros(shape)

    with pytest.raises(
        PluginError, match=r"Wrong.embed returned .* for 2 images; expected \(2, D\)"
    ):
        extract_embeddings(Wrong(), batches(images(2), 2), CPU)
