from __future__ import annotations

import subprocess
import sys

import pytest

PROBE = """
import sys
from reid_core.cli.{module} import main
try:
    main({arguments!r})
except SystemExit as error:
    code = error.code
heavy = sorted({{"torch", "torchvision", "numpy", "timm", "PIL", "rich"}} & set(sys.modules))
print(f"exit {{code}} heavy {{heavy}}", file=sys.stderr)
"""


def run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROBE.format(module=module, arguments=list(arguments))],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("module", "arguments", "expected"),
    [
        ("train", ["--help"], "Train a re-identification model from a recipe."),
        ("train", ["-h"], "--resume [auto|PATH]"),
        (
            "evaluate",
            ["--help"],
            "Evaluate weights or embeddings on test sets, or compare two runs.",
        ),
        ("config", ["--help"], "Show, check, compare and list configurations."),
        ("config", ["diff", "--help"], "Show what differs between two runs"),
        ("config", ["check", "--help"], "each with file, line and column"),
        ("config", ["list"], ""),
        ("config", ["show", "--help"], "--set KEY=VALUE"),
        ("config", ["schedule", "--help"], "--steps-per-epoch N"),
        ("data", ["--help"], "Look at data sets, check, convert and cut them."),
        ("data", ["stats", "--help"], "--no-images"),
        ("data", ["preview", "--help"], "--identities N"),
        ("data", ["convert", "--help"], "--copy FOLDER"),
        ("data", ["split", "--help"], "--open-set SHARE"),
        ("data", ["sample", "--help"], "--images K"),
        ("data", ["pack", "--help"], "--max-side N"),
        ("plugins", ["--help"], "Show, check and make plugins."),
        ("plugins", ["list", "--help"], "Only one kind: backbones, heads"),
        ("plugins", ["list"], "samplers identity reid-core"),
        ("plugins", ["show", "--help"], "Only one kind: backbones, heads"),
        ("plugins", ["check", "--help"], "--timeout"),
        ("plugins", ["new", "--help"], "What it provides: backbone, head"),
        ("train", ["--version"], "version"),
    ],
)
def test_help_and_listing_answer_without_torch(
    module: str, arguments: list[str], expected: str
) -> None:
    done = run(module, *arguments)
    assert done.stderr == "exit 0 heavy []\n"
    assert expected in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("module", "examples"),
    [
        (
            "train",
            [
                "reid-train --config osnet/osnet_x0_25",
                "reid-train --config my.yaml --set train.epochs=60 --output runs/mine",
                "reid-train --config my.yaml --output runs/mine --resume",
            ],
        ),
        ("evaluate", ["reid-eval --checkpoint runs/mine"]),
    ],
)
def test_examples_stand_on_lines_of_their_own(module: str, examples: list[str]) -> None:
    lines = [line.strip() for line in run(module, "--help").stdout.splitlines()]
    for example in examples:
        assert example in lines


def test_a_missing_recipe_is_answered_without_torch() -> None:
    done = run("train", "--config", "nobody/nothing")
    assert done.stderr.startswith("error: unknown recipe 'nobody/nothing'")
    assert done.stderr.endswith("exit 2 heavy []\n")
