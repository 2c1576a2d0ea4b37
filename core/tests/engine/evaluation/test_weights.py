"""What is said of settings that differ from those of training."""

import logging
from pathlib import Path

from reid_core.config.load import config_from_plain
from reid_core.engine.evaluation.weights import _warn_of_other_settings
from reid_core.engine.record.weights_info import WeightsInfo


def test_a_setting_that_training_left_out_is_its_default(caplog):
    head = {"model": {"head": {"name": "bnneck"}}}
    then = config_from_plain(head, source="a test")
    now = config_from_plain(
        {"model": {"head": {"name": "bnneck", "test_feature": "before"}}}, source="a test"
    )
    info = WeightsInfo(Path("last.safetensors"), then.model_dump(mode="json"))
    with caplog.at_level(logging.WARNING, logger="reid_core"):
        _warn_of_other_settings(now, info)
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == (
        "evaluation: model.head.test_feature is 'before', the weights were trained with its default"
    )
