from __future__ import annotations

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from reid_core.checkpoint.weights import load_into, read_backbone_state, read_state_dict
from reid_core.errors import CheckpointError


def model(classes=5):
    torch.manual_seed(1)
    return nn.ModuleDict(
        {
            "backbone": nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)),
            "classifier": nn.Linear(4, classes),
        }
    )


@pytest.mark.parametrize(
    "wrap",
    [
        lambda state: state,
        lambda state: {"state_dict": state, "epoch": 3},
        lambda state: {"model": {f"module.{k}": v for k, v in state.items()}},
        lambda state: {f"model.{k}": v for k, v in state.items()},
        lambda state: {f"module._orig_mod.{k}": v for k, v in state.items()},
    ],
)
def test_common_layouts_are_read(tmp_path, wrap):
    state = model().state_dict()
    path = tmp_path / "w.pth"
    torch.save(wrap(state), path)
    got = read_state_dict(path)
    assert got.keys() == state.keys()
    assert all(torch.equal(got[key], state[key]) for key in state)


def test_safetensors_are_read(tmp_path):
    state = dict(model().state_dict())
    save_file(state, tmp_path / "w.safetensors")
    assert read_state_dict(tmp_path / "w.safetensors").keys() == state.keys()


def test_a_typo_in_the_path_shows_the_nearest_name(tmp_path):
    torch.save({}, tmp_path / "osnet.pth")
    with pytest.raises(CheckpointError, match=r"did you mean .*osnet\.pth"):
        read_state_dict(tmp_path / "onset.pth")
    with pytest.raises(CheckpointError, match="there is no folder"):
        read_state_dict(tmp_path / "nowhere" / "osnet.pth")
    with pytest.raises(CheckpointError, match="is a folder"):
        read_state_dict(tmp_path)


def test_damaged_files_say_what_is_wrong(tmp_path):
    empty, cut, text = tmp_path / "empty.pth", tmp_path / "cut.pth", tmp_path / "text.pth"
    empty.write_bytes(b"")
    torch.save(model().state_dict(), cut)
    cut.write_bytes(cut.read_bytes()[:500])
    text.write_text("hello")
    with pytest.raises(CheckpointError, match=r"is empty \(0 bytes\)"):
        read_state_dict(empty)
    with pytest.raises(CheckpointError, match=r"damaged|cannot be loaded safely"):
        read_state_dict(cut)
    with pytest.raises(CheckpointError, match="damaged, or no file that torch wrote"):
        read_state_dict(text)
    (tmp_path / "bad.safetensors").write_bytes(b"12345")
    with pytest.raises(CheckpointError, match="is damaged"):
        read_state_dict(tmp_path / "bad.safetensors")


class Evil:
    def __reduce__(self):
        return (print, ("code ran",))


def test_code_in_a_file_is_never_run(tmp_path, capsys):
    torch.save({"state_dict": Evil()}, tmp_path / "evil.pth")
    with pytest.raises(CheckpointError, match="the object print that is neither") as caught:
        read_state_dict(tmp_path / "evil.pth")
    assert "weights_only" not in str(caught.value), "no advice to load it unsafely"
    assert "code ran" not in capsys.readouterr().out


def test_a_backbone_takes_its_part_of_a_trained_model(tmp_path):
    own = model()["backbone"].state_dict()
    trained = {f"backbone.{k}": v for k, v in own.items()} | {"head.bias": torch.zeros(2)}
    torch.save({"format": 1, "model": trained, "eval_model": None}, tmp_path / "run.pt")
    wrapped = {f"backbone.model.{k}": v for k, v in own.items()} | {"head.bias": torch.zeros(2)}
    torch.save(wrapped, tmp_path / "wrapped.pt")
    torch.save({f"backbone.{k}": v for k, v in own.items()}, tmp_path / "foreign.pt")
    assert read_backbone_state(tmp_path / "run.pt").keys() == own.keys()
    assert read_backbone_state(tmp_path / "wrapped.pt").keys() == own.keys()
    assert "backbone.0.weight" in read_backbone_state(tmp_path / "foreign.pt")


def test_loading_reports_the_share_and_is_exact():
    source, target = model(), model()
    with torch.no_grad():
        for value in target.parameters():
            value.zero_()
    report = load_into(target, source.state_dict(), source="x")
    assert report.loaded_share == 1.0
    assert "loaded 100.0% of the parameters" in report.summary()
    for key, value in source.state_dict().items():
        assert torch.equal(value, target.state_dict()[key])


def test_a_classifier_left_out_by_name_counts_as_complete():
    state = model(classes=751).state_dict()
    target = model(classes=5)
    report = load_into(target, state, source="x", ignore=("classifier.*",))
    assert report.loaded_share == 1.0
    assert report.ignored == ("classifier.weight", "classifier.bias")
    assert "2 not used (classifier.weight, classifier.bias)" in report.summary()


def test_a_renamed_layer_is_an_error_that_lists_both_names_and_loads_nothing():
    state = {k.replace("backbone.1", "backbone.bn"): v for k, v in model().state_dict().items()}
    target = model()
    before = {k: v.clone() for k, v in target.state_dict().items()}
    state = {k: v + 1 for k, v in state.items()}
    with pytest.raises(CheckpointError) as caught:
        load_into(target, state, source="ckpt.pth")
    message = str(caught.value)
    assert "ckpt.pth does not fit the model" in message
    assert "4 missing in the file: backbone.1.weight" in message
    assert "5 unexpected in the file: backbone.bn.weight" in message
    assert all(torch.equal(before[k], v) for k, v in target.state_dict().items())


def test_another_shape_is_an_error_with_both_shapes():
    with pytest.raises(CheckpointError, match=r"classifier.weight \(7, 4\) against \(5, 4\)"):
        load_into(model(5), model(7).state_dict(), source="x")


def test_zero_percent_is_an_error_even_when_everything_is_excused():
    with pytest.raises(CheckpointError, match=r"0\.0% of the parameters"):
        load_into(model(), {"other.weight": torch.zeros(1)}, source="x", allow_missing=("*",))


def test_counters_of_batch_norm_may_be_missing():
    state = {k: v for k, v in model().state_dict().items() if "num_batches" not in k}
    assert load_into(model(), state, source="x").loaded_share == 1.0
