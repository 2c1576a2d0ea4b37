from __future__ import annotations

from reid_plugin_mlflow.limits import MAX_NAME, MAX_VALUE, flat_parameters, valid_name


def test_a_configuration_becomes_parameters_by_dotted_path():
    plain = {
        "seed": 0,
        "output": None,
        "hooks": [{"name": "a"}, {"name": "b", "modules": []}],
        "model": {"backbone": {"name": "timm"}, "extra": {}},
        "clip": True,
    }
    assert flat_parameters(plain) == {
        "seed": "0",
        "output": "None",
        "hooks.0.name": "a",
        "hooks.1.name": "b",
        "hooks.1.modules": "[]",
        "model.backbone.name": "timm",
        "model.extra": "{}",
        "clip": "True",
    }
    assert flat_parameters({}) == {}


def test_what_is_too_long_is_cut_and_says_so():
    cut = flat_parameters({"a": "x" * (MAX_VALUE + 1), "b": "y" * MAX_VALUE})
    assert cut["a"] == "x" * (MAX_VALUE - 1) + "…"
    assert cut["b"] == "y" * MAX_VALUE


def test_names_hold_only_what_mlflow_takes():
    from mlflow.utils.validation import _validate_metric_name

    for name in ("val/a+b/mAP", "train/loss[0]", "a b(c)@d", "x" * 300):
        _validate_metric_name(valid_name(name))
    assert valid_name("val/market1501/mAP") == "val/market1501/mAP"
    assert len(valid_name("x" * 300)) == MAX_NAME
