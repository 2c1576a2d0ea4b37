from __future__ import annotations

import pytest


def test_every_problem_is_told_at_once_with_its_place_in_the_order_of_the_file(problems) -> None:
    text = """\
trian: {epochs: 3}
train:
  epohs: 3
  lr: 1e-4
  optimizer: {name: sgd, lr: fast}
data:
  workers: -1
  image_size: 256
batch_size: 64
model:
  losses:
    - {weight: 2}
zzz: 1
"""
    keys = "data, default_hooks, description, device, evaluate, hooks, model, output, plugins, seed"
    assert problems(text) == [
        "f.yaml:1:1  trian: unknown key; did you mean train?",
        "f.yaml:3:3  train.epohs: unknown key; did you mean epochs?",
        "f.yaml:4:3  train.lr: unknown key; did you mean train.optimizer.lr?",
        "f.yaml:5:26  train.optimizer.lr: input should be a valid number, unable to parse string "
        "as a number, got 'fast'",
        "f.yaml:7:3  data.workers: input should be greater than or equal to 0, got -1",
        "f.yaml:8:3  data.image_size: expected [height, width] in pixels, got 256",
        "f.yaml:9:1  batch_size: unknown key; did you mean evaluate.batch_size?",
        "f.yaml:12:7  model.losses.0.name: required key is missing",
        f"f.yaml:13:1  zzz: unknown key (known: {keys}, train)",
    ]


def test_problems_of_file_parent_and_command_line_each_name_their_own_place(
    write, problems
) -> None:
    write("base.yaml", "train:\n  epochs: 0\n")
    lines = problems("extends: base.yaml\nseed: -1\n", "data.workers=-1")
    assert lines == [
        "--set data.workers=-1  data.workers: input should be greater than or equal to 0, got -1",
        "base.yaml:2:3  train.epochs: input should be greater than or equal to 1, got 0",
        "f.yaml:2:1  seed: input should be greater than or equal to 0, got -1",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("train:", "f.yaml:1:1  train: expected a mapping of keys, got null"),
        ("data: 3", "f.yaml:1:1  data: expected a mapping of keys, got 3"),
        ("data: [a, {b: 1}]", "f.yaml:1:1  data: expected a mapping of keys, got ['a', a mapping]"),
        ("evaluate: true", "f.yaml:1:1  evaluate: expected a mapping of keys, got true"),
        ("data: {train: {name: null}}", "f.yaml:1:16  data.train.0.name: expected the name of a "
         "component, got null; 'reid-plugins list' shows them all"),
        ("data: {train: null}", "f.yaml:1:8  data.train.0: expected a name, or a mapping with a "
         "name and parameters, got null; 'reid-plugins list' shows them all"),
        ("data: {batch: {sampler: null}}", "f.yaml:1:16  data.batch.sampler: expected the name of "
         "a component, got null; 'reid-plugins list' shows them all"),
        ("model: {losses: [~]}", "f.yaml:1:18  model.losses.0: expected a name, or a mapping with "
         "a name and parameters, got null; 'reid-plugins list' shows them all"),
        ("data: {batch: random}", "f.yaml:1:8  data.batch: expected a mapping of keys, "
         "got 'random'"),
        (
            "hooks: ema",
            "f.yaml:1:1  hooks: expected a list, got 'ema'; put it in brackets, as in "
            "[one, {name: two}]",
        ),
        (
            "hooks: {name: ema, decay: 1}",
            "f.yaml:1:1  hooks: expected a list, got a mapping; put it in brackets, as in "
            "[one, {name: two}]",
        ),
        (
            "plugins: {require: x}",
            "f.yaml:1:11  plugins.require: expected a list, got 'x'; put it in brackets, as in "
            "[one, {name: two}]",
        ),
        ("model: {head: 3}", "f.yaml:1:9  model.head: expected a name, or a mapping with a name "
         "and parameters, got 3"),
        ("model: {losses: [null]}", "f.yaml:1:18  model.losses.0: expected a name, or a mapping "
         "with a name and parameters, got null; 'reid-plugins list' shows them all"),
        ("model: {head: {pooling: avg}}", "f.yaml:1:9  model.head.name: required key is missing"),
        ("data: {train: {root: x}}", "f.yaml:1:8  data.train.0.name: required key is missing"),
        ("data: {train: {name: 3}}", "f.yaml:1:16  data.train.0.name: input should be a valid "
         "string, got 3; write text in quotes"),
        (
            "data: {image_size: [256]}",
            "f.yaml:1:8  data.image_size: expected [height, width] in pixels, got [256]",
        ),
        ("data: {image_size: [4, 9]}", "f.yaml:1:8  data.image_size: [height, width] in pixels, "
         "each at least 8, got [4, 9]"),
        ("data: {image_size: [a, 64]}", "f.yaml:1:21  data.image_size.0: input should be a valid "
         "integer, unable to parse string as an integer, got 'a'"),
        ("train: {schedule: {warmup: {}}}", "f.yaml:1:20  train.schedule.warmup: give its length "
         "as either epochs or steps"),
        ("evaluate: {distance: cos}", "f.yaml:1:12  evaluate.distance: input should be 'cosine' "
         "or 'euclidean', got 'cos'"),
        ("output: null\ndescription: null", "f.yaml:2:1  description: input should be a valid "
         "string, got null"),
        ("description: [a]", "f.yaml:1:1  description: input should be a valid string, got ['a']"),
        ("train: {optimizer: {lr: .nan}}", "f.yaml:1:21  train.optimizer.lr: input should be a "
         "finite number, got nan"),
    ],
)  # fmt: skip
def test_each_kind_of_mistake_is_told_in_the_words_of_the_config(
    problems, text: str, line: str
) -> None:
    assert problems(text) == [line]
