"""A protocol of one benchmark on another set: refused before anything is embedded."""

import pytest
import torch

from reid_core.config import Config
from reid_core.data.datasets.market1501 import market1501
from reid_core.data.query_gallery import TestSet
from reid_core.engine.evaluation.evaluator import Evaluator
from reid_core.errors import DataError
from reid_core.testing import write_tiny_market


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    return write_tiny_market(tmp_path_factory.mktemp("market"), test_identities=3)


@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        ("regdb", ": the protocol needs the column modalities, and the test set has "),
        ("sysu_mm01", ": the protocol needs the column modalities"),
        ("clothes_change", ": the protocol needs the column clothids"),
        ("prcc", ": the protocol needs the column clothids"),
        ({"name": "ltcc", "setting": "changed"}, ": the protocol needs the column clothids"),
        ("veri776_tracks", ": the protocol needs the column tracklets"),
        ("atrw", ": the protocol needs the column frames"),
        ("vehicleid", r": protocol vehicleid: the gallery has \d+ images of \d+ identities, and"),
    ],
)
def test_the_data_set_and_what_it_lacks_are_named(market, protocol, message):
    config = Config.model_validate({"evaluate": {"protocol": protocol}})
    name = protocol["name"] if isinstance(protocol, dict) else protocol
    told = f"^test set market1501(, protocol {name})?{message}"
    with pytest.raises(DataError, match=told) as caught:
        Evaluator(TestSet.of(market1501(root=str(market))), config, torch.device("cpu"))
    assert f"protocol {name}: " in str(caught.value)
