"""Plugin data sets and transforms work however workers are started; B153, B154, B156."""

import json
import os
import re
import subprocess
import sys
import textwrap

import pytest

from reid_core.testing import write_tiny_market

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

#: A distribution with a data set, transforms, and the three parts of a model.
PLUGIN = '''
import numpy as np
from reid_core import HeadOutput, Manifest
from reid_core.data.datasets.market1501 import market1501
from reid_core.data.transforms import ImageTransform
from reid_core.errors import PluginError
from torch import nn


def crops(*, root: str) -> Manifest:
    """Read a folder in Market-1501's layout."""
    return market1501(root=root, title="crops")


class Grain(ImageTransform):
    """Adds noise."""

    def __init__(self, *, strength: int = 8) -> None:
        self.strength = strength

    def __call__(self, image, rng):
        noise = rng.integers(-self.strength, self.strength + 1, tuple(image.shape))
        return image.new_tensor(np.clip(image.numpy() + noise, 0, 255))


class Lambda(Grain):
    """Cannot be pickled."""

    def __init__(self) -> None:
        self.change = lambda image: image


class GrainError(Exception):
    """Takes two arguments and keeps one."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"{what} in {where}")


class TwoArguments(Grain):
    """Raises its own error."""

    def __call__(self, image, rng):
        raise GrainError("sand", "the gears")


class Chained(Grain):
    """Raises an error with a cause."""

    def __call__(self, image, rng):
        try:
            import not_installed_anywhere
        except ImportError as error:
            raise PluginError("grain needs not_installed_anywhere; pip install it") from error


class Exits(Grain):
    """Ends the process."""

    def __call__(self, image, rng):
        raise SystemExit(0)


class Backbone(nn.Module):
    feature_dim = 8

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 5, stride=4)

    def forward(self, images):
        return self.conv(images)


class Head(nn.Module):
    def __init__(self, *, feature_dim: int, num_classes: int | None) -> None:
        super().__init__()
        self.embedding_dim = feature_dim
        self.classifier = nn.Linear(feature_dim, num_classes) if num_classes else None

    def forward(self, features, pids=None):
        pooled = features.mean(dim=(2, 3))
        logits = {"global": self.classifier(pooled)} if self.classifier is not None else {}
        return HeadOutput(embedding=pooled, features={"global": pooled}, logits=logits)


class Loss(nn.Module):
    def forward(self, output, batch):
        return nn.functional.cross_entropy(output.logits["global"], batch.pids)
'''

ENTRY_POINTS = """
[reid_core.datasets]
crops = reid_plugin_grain:crops
[reid_core.transforms]
grain = reid_plugin_grain:Grain
lambda = reid_plugin_grain:Lambda
two_arguments = reid_plugin_grain:TwoArguments
chained = reid_plugin_grain:Chained
exits = reid_plugin_grain:Exits
[reid_core.backbones]
grain_backbone = reid_plugin_grain:Backbone
[reid_core.heads]
grain_head = reid_plugin_grain:Head
[reid_core.losses]
grain_loss = reid_plugin_grain:Loss
"""

ORIGIN = "of reid-plugin-grain 1.2 (reid_plugin_grain:"

#: What every script needs: a config of the plugin's parts, and the loader of it.
HELPERS = """
import json
import sys

import torch

from reid_core import DefaultTrainer, load_config
from reid_core.data.labels import LabelMap
from reid_core.data.sources import Sources
from reid_core.data.train_data import build_train_loader


def settings(method, transform="grain", workers=2):
    return load_config("recipe.yaml", {
        "data.workers": workers, "data.start_method": method, "data.transforms": [transform]
    })


def loader_of(config):
    manifests = Sources(train=config.data.train, test=[]).train_manifests()
    return build_train_loader(
        config, manifests, LabelMap.of(manifests), device=torch.device("cpu")
    )


def batches(config):
    loader = loader_of(config)
    return [batch for epoch in range(2) for batch in loader.epoch(epoch)]
"""

RECIPE = """
output: {output}
model:
  backbone: grain_backbone
  head: grain_head
  losses: [grain_loss]
data:
  train: {{name: crops, root: '{root}'}}
  image_size: [32, 16]
  batch: {{sampler: identity, identities: 3, instances: 4}}
train: {{epochs: 1}}
evaluate: {{every: 1}}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with an installed distribution."""
    folder = tmp_path_factory.mktemp("site")
    info = folder / "reid_plugin_grain-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: reid-plugin-grain\nVersion: 1.2\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    (folder / "reid_plugin_grain.py").write_text(PLUGIN, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def crops(tmp_path_factory):
    return write_tiny_market(tmp_path_factory.mktemp("crops"))


@pytest.fixture
def python(site, crops, tmp_path):
    """``python(code, *arguments)`` runs a script, or what it is told to run, beside the plugin."""
    recipe = RECIPE.format(root=crops.as_posix(), output=(tmp_path / "run").as_posix())
    (tmp_path / "recipe.yaml").write_text(recipe, encoding="utf-8")
    (tmp_path / "helpers.py").write_text(HELPERS, encoding="utf-8")

    def run(code, *arguments, is_file=True):
        text = textwrap.dedent(code)
        (tmp_path / "script.py").write_text(text, encoding="utf-8")
        path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
        return subprocess.run(
            [sys.executable, *(["script.py"] if is_file else ["-c", text]), *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=200,
        )

    return run


TRAIN = """
    from helpers import *

    def same(first, second):
        names = ("images", "pids", "camids", "index")
        return all(torch.equal(getattr(first, n), getattr(second, n)) for n in names)

    if __name__ == "__main__":
        method = sys.argv[1]
        here = batches(settings(method, workers=0))
        trainer = DefaultTrainer(settings(method))
        loader = trainer.data_loader
        there = [batch for epoch in range(2) for batch in loader.epoch(epoch)]
        plain = loader_of(settings(method, "random_flip", workers=0))
        started = loader._loader.multiprocessing_context.get_start_method()
        outcome = trainer.train()
        print(json.dumps({
            "number": len(there),
            "same": [same(*pair) for pair in zip(here, there, strict=True)],
            "as plain": same(here[0], next(plain.epoch(0))),
            "started": started,
            "outcome": outcome.status,
            "evaluated": sorted(trainer.results.latest()),
        }))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_plugin_makes_the_same_batches_and_trains_with_every_start_method(method, python):
    done = python(TRAIN, method)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["number"] == 8
    assert all(result["same"])
    assert not result["as plain"], "the plugin's transform acts"
    assert result["started"] == method
    assert result["outcome"] == "completed"
    assert result["evaluated"] == ["crops"]


RANKS = """
    from helpers import *

    def rank(number, folder):
        made = batches(settings("spawn", workers=number))
        torch.save([batch.images for batch in made], f"{folder}/{number}.pt")

    if __name__ == "__main__":
        torch.multiprocessing.spawn(rank, args=(sys.argv[1],), nprocs=2)
"""


def test_the_plugin_is_there_in_spawned_ranks_and_in_their_workers(python, tmp_path):
    import torch

    done = python(RANKS, str(tmp_path))
    assert done.returncode == 0, done.stderr
    first, second = (torch.load(tmp_path / f"{number}.pt") for number in range(2))
    assert len(first) == 8
    assert all(torch.equal(*pair) for pair in zip(first, second, strict=True))


FAIL = """
    import reid_plugin_grain
    from helpers import *

    if __name__ == "__main__":
        method, transform = sys.argv[1:]
        try:
            batches(settings(method, transform, workers=1))
        except Exception as error:
            print(json.dumps({
                "type": type(error).__name__,
                "is own": type(error) is getattr(reid_plugin_grain, type(error).__name__, None),
                "text": str(error),
                "notes": getattr(error, "__notes__", []),
                "cause": str(error.__cause__),
            }))
"""


@pytest.fixture
def failure(python):
    """``failure(method, transform)`` says what the parent process catches."""

    def run(method, transform):
        done = python(FAIL, method, transform)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_an_error_of_a_plugin_arrives_as_itself_with_its_place(method, failure):
    found = failure(method, "two_arguments")
    assert found["type"] == "GrainError"
    assert found["is own"]
    assert found["text"] == "sand in the gears"
    assert found["notes"][0] == f"raised by transform two_arguments {ORIGIN}TwoArguments)"
    assert re.fullmatch(r"raised while reading row \d+, worker 0", found["notes"][1])
    assert 'raise GrainError("sand", "the gears")' in found["cause"]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_plugin_error_with_a_cause_arrives(method, failure):
    found = failure(method, "chained")
    assert found["type"] == "PluginError"
    assert found["text"] == "grain needs not_installed_anywhere; pip install it"
    assert found["notes"][0] == f"raised by transform chained {ORIGIN}Chained)"
    assert "No module named 'not_installed_anywhere'" in found["cause"]


def test_a_transform_that_ends_its_worker_is_named(failure):
    found = failure("fork", "exits")
    assert found["type"] == "PluginError"
    assert found["text"] == f"transform exits {ORIGIN}Exits) called sys.exit(0)"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_transform_that_holds_a_lambda_is_named_before_workers_start(method, failure):
    found = failure(method, "lambda")
    assert found["type"] == "PluginError"
    assert found["text"] == (
        f"transform lambda {ORIGIN}Lambda) cannot be sent to worker processes: Can't pickle local "
        "object 'Lambda.__init__.<locals>.<lambda>'; keep lambdas and local functions out of it, "
        "or set data.workers=0"
    )


LOCAL = """
    from helpers import *
    from reid_core.data.transforms import ImageTransform
    from reid_core.plugins.registries import TRANSFORMS

    {head}
        class Invert(ImageTransform):
            def __call__(self, image, rng):
                return 255 - image

    if __name__ == "__main__":
        TRANSFORMS.register(Invert, name="invert")
        print(len(batches(settings(sys.argv[1], "invert", workers=1))))
"""

EVERYWHERE = LOCAL.format(head="if True:")
BELOW_THE_GUARD = LOCAL.format(head='if __name__ == "__main__":')


@pytest.mark.parametrize(
    ("code", "method", "is_file"),
    [
        (EVERYWHERE, "spawn", True),
        (EVERYWHERE, "forkserver", True),
        (BELOW_THE_GUARD, "fork", True),
        (EVERYWHERE, "fork", False),
    ],
    ids=["script-spawn", "script-forkserver", "guarded-fork", "interpreter-fork"],
)
def test_a_transform_of_the_program_works_where_workers_can_have_it(code, method, is_file, python):
    done = python(code, method, is_file=is_file)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["8"]


@pytest.mark.parametrize(
    ("code", "method", "is_file"),
    [(BELOW_THE_GUARD, "spawn", True), (EVERYWHERE, "forkserver", False)],
    ids=["guarded-spawn", "interpreter-forkserver"],
)
def test_a_transform_that_workers_cannot_have_is_explained(code, method, is_file, python):
    done = python(code, method, is_file=is_file)
    assert done.returncode == 1
    last = [line for line in done.stderr.splitlines() if line.startswith("reid_core.errors.")][-1]
    assert "transform invert of local 0 (__main__:Invert) does not exist in the worker" in last
    assert "Can't get attribute 'Invert'" in last
    assert "put the class into a module, or set data.workers=0" in last


UNGUARDED = """
    from helpers import *

    print(len(batches(settings(sys.argv[1], workers=1))))
"""


def test_a_program_that_starts_itself_again_is_told_how_to_begin(python):
    done = python(UNGUARDED, "spawn")
    assert done.returncode == 1
    last = [line for line in done.stderr.splitlines() if line.startswith("reid_core.errors.")][-1]
    assert "TrainingError: a worker process died" in last
    assert "starts training below 'if __name__ == \"__main__\"'" in last
