from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reid_core.cli.config import main


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["schedule", *arguments])


def test_the_rates_are_printed_with_step_and_epoch_and_drawn(tiny_recipe: Path) -> None:
    result = run(str(tiny_recipe))
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "tiny: schedule multistep, 4 epochs of 4 steps, lr 0.01"
    table = [line.split() for line in lines[3 : lines.index("", 2)]]
    assert table == [
        ["0", "0.000", "1.00000e-03"],
        ["1", "0.250", "4.00000e-03"],
        ["2", "0.500", "7.00000e-03"],
        ["3", "0.750", "1.00000e-02"],
        ["8", "2.000", "1.00000e-03"],
        ["15", "3.750", "1.00000e-03"],
    ]
    assert lines[-1].split() == ["0", "4", "epochs"]
    assert sum("*" in line for line in lines) > 3


def test_no_data_is_read_where_the_length_of_an_epoch_is_given(tiny_recipe: Path) -> None:
    missing = ["--set", "data.train.0.root=nowhere"]
    assert run(str(tiny_recipe), *missing).exit_code == 3
    result = run(str(tiny_recipe), *missing, "--steps-per-epoch", "10", "--every", "2", "--json")
    assert result.exit_code == 0
    plain = json.loads(result.stdout)
    points = plain.pop("points")
    assert plain == {
        "schema": 1, "config": "tiny", "schedule": "multistep", "epochs": 4, "steps_per_epoch": 10,
    }  # fmt: skip
    assert [point["step"] for point in points] == [0, 20, 39]
    assert points[1] == {"step": 20, "epoch": 2.0, "lr": pytest.approx(0.001)}


def test_factors_of_parameter_groups_are_said(tiny_recipe: Path) -> None:
    settings = ["bias_lr_factor=2", "head_lr_factor=10", "layer_decay=0.9"]
    options = [part for one in settings for part in ("--set", f"optimizer.{one}")]
    lines = run(str(tiny_recipe), *options).stdout.splitlines()
    assert lines[1:4] == [
        "biases: times 2",
        "outside the backbone: times 10",
        "in the backbone: times 0.9 for each layer from the last on",
    ]


@pytest.mark.parametrize("ending", ["svg", "html", "png"])
def test_a_plot_is_written_beside_the_numbers(
    ending: str, tiny_recipe: Path, tmp_path: Path
) -> None:
    plot = tmp_path / f"lr.{ending}"
    result = run(str(tiny_recipe), "--plot", str(plot), "--json")
    assert (result.exit_code, result.stderr) == (0, f"drawn: {plot}\n")
    json.loads(result.stdout)
    assert plot.stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--plot", "lr.gif"], 2, "error: --plot lr.gif: expected a name that ends in .svg"),
        (["--steps-per-epoch", "0"], 2, "Invalid value for '--steps-per-epoch'"),
        (["--set", "train.schedule.gamma=0"], 2, "gamma is 0.0; expected more than 0"),
        (["--set", "train.schedule.name=nothing"], 4, "unknown schedule 'nothing'"),
        (["--set", "train.schedule.warmup.steps=99"], 2, "lasts 99 steps, the whole run only 16"),
    ],
)
def test_each_mistake_has_its_exit_code(
    arguments: list[str], code: int, message: str, tiny_recipe: Path
) -> None:
    result = run(str(tiny_recipe), *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr
