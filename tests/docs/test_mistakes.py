"""Each mistake on the pages of the kinds gives the message beside it, and each message is given."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from reid_core import Manifest, testing
from reid_core.config import load_config
from reid_core.data.keys import EpochKeys
from reid_core.data.train_data import build_sampler, build_transforms, require_picklable
from reid_core.engine import HookManager, SimpleTrainer
from reid_core.engine.check import check_config
from reid_core.engine.evaluation.parts import build_rerankers
from reid_core.errors import ReidError
from reid_core.evaluation.rerankers import reranked
from reid_core.hookspecs import hookimpl
from reid_core.models.build import build_model
from reid_core.optim import build_optimizer
from reid_core.plugins.index import KINDS
from reid_core.plugins.registries import SAMPLERS
from reid_core.testing.fake_dist import FakeSite

DIST = "reid-plugin-wrong"
HEAD = "import torch\nfrom torch import nn\nfrom reid_core import *\n"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Installs what a scenario has written, until the test ends."""
    monkeypatch.chdir(tmp_path)
    site = FakeSite(tmp_path / "site")
    yield site
    site.uninstall()


class Broken:
    """Installs one broken component, named ``wrong``, and uses it.

    Args:
        site: Where to install it.
        folder: An empty folder.
    """

    def __init__(self, site, folder):
        self.site, self.folder = site, folder

    def install(self, kind, source, value="reid_plugin_wrong:Wrong", **files):
        modules = {"reid_plugin_wrong/__init__.py": HEAD + source, **files}
        self.site(DIST, {kind: {"wrong": value}}, modules=modules)

    def config(self, **changes):
        keys = {key.replace("__", "."): value for key, value in changes.items()}
        return load_config("osnet/osnet_x0_25", {"data.image_size": [32, 16], **keys})

    def model(self, **changes):
        return build_model(self.config(**changes), num_classes=4)

    def conformance(self, base, **attributes):
        return type(
            "TestWrong",
            (getattr(testing, base),),
            {
                "name": "wrong",
                "dist": DIST,
                **attributes,
            },
        )()


def backbone_without_feature_dim(broken):
    broken.install("backbones", "class Wrong(nn.Module): pass")
    broken.model(model__backbone="wrong")


def backbone_that_is_no_module(broken):
    broken.install("backbones", "def Wrong(): return {}")
    broken.model(model__backbone="wrong")


def backbone_with_another_width(broken):
    broken.install(
        "backbones",
        "class Wrong(nn.Module):\n"
        "  def __init__(self):\n"
        "    super().__init__()\n"
        "    self.feature_dim, self.layer = 8, nn.Conv2d(3, 16, 8, 8)\n"
        "  def forward(self, images): return self.layer(images)\n",
    )
    broken.conformance("BackboneConformance").test_shapes_and_dtypes()


HEAD_CLASS = (
    "class Wrong(nn.Module):\n"
    "  def __init__(self, *, feature_dim: int, num_classes: int | None):\n"
    "    super().__init__()\n"
    "    self.embedding_dim = feature_dim\n"
    "    self.{layer} = nn.Linear(feature_dim, num_classes) if num_classes else None\n"
    "  def forward(self, features, pids=None):\n"
    "    x = features.mean(dim=(2, 3))\n"
    "    logits = {{'{name}': self.{layer}(x)}} if self.training and self.{layer} else {{}}\n"
    "    return HeadOutput(embedding=x, features={{'global': x}}, logits=logits)\n"
)


def head_whose_classifier_has_another_name(broken):
    broken.install("heads", HEAD_CLASS.format(layer="scores", name="global"))
    broken.conformance("HeadConformance").test_is_built_without_classes()


def head_with_two_names_for_one_branch(broken):
    broken.install("heads", HEAD_CLASS.format(layer="classifier", name="main"))
    broken.conformance("HeadConformance").test_output_in_training()


def head_that_is_no_module(broken):
    broken.install("heads", "def Wrong(): return None")
    broken.model(model__head="wrong")


LOSS_CLASS = (
    "class Wrong(nn.Module):\n"
    "  def forward(self, output, batch):\n"
    "    x = output.features['global']\n"
    "    self.value = {value}\n"
    "    return self.value\n"
    "  def metrics(self): return {{'value': self.value}}\n"
)


def loss_with_a_value_an_image(broken):
    train_with_loss(broken, "x.square().sum(dim=1)")


def loss_without_gradient(broken):
    train_with_loss(broken, "x.detach().square().mean()")


def loss_that_reports_a_float(broken):
    train_with_loss(broken, "x.square().mean()", reported="self.value.item()")


def train_with_loss(broken, value, reported="self.value"):
    code = LOSS_CLASS.format(value=value).replace(
        "{'value': self.value}", f"{{'value': {reported}}}"
    )
    broken.install("losses", code)
    model = broken.model(model__losses=["wrong"]).train()
    trainer = SimpleTrainer(model, [0], torch.optim.SGD(model.parameters(), lr=0.1))
    trainer.forward(testing.tiny_reid_batch(image_size=(32, 16), identities=2, instances=2))


def loss_that_keeps_its_graph(broken):
    broken.install("losses", LOSS_CLASS.format(value="x.square().mean()"))
    broken.conformance("LossConformance").test_metrics_are_detached_scalars()


def loss_that_needs_positives(broken):
    same = "(batch.pids[:, None] == batch.pids).triu(1)"
    broken.install("losses", LOSS_CLASS.format(value=f"(x @ x.T)[{same}].mean()"))
    broken.conformance("LossConformance").test_degenerate_batches_are_finite()


def model_that_is_a_plain_module(broken):
    broken.install("models", "class Wrong(nn.Module): pass")
    broken.model(model__name="wrong")


def model_that_returns_nothing(broken):
    broken.install("models", "class Wrong(ReidModel):\n  def forward(self, batch): pass")
    model = broken.model(model__name="wrong").train()
    weights = [torch.nn.Parameter(torch.zeros(1))]
    SimpleTrainer(model, [0], torch.optim.SGD(weights, lr=0.1)).forward(testing.tiny_reid_batch())


def hook_class(body):
    return type("Wrong", (), body)


def hook_with_a_misspelt_method(broken):
    def after_stp(self): ...

    HookManager().add(hook_class({"after_stp": hookimpl(after_stp)})())


def hook_without_a_mark(broken):
    def after_step(self): ...

    def before_step(self): ...

    body = {"after_step": after_step, "before_step": hookimpl(before_step)}
    HookManager().add(hook_class(body)())


def hook_with_an_unknown_argument(broken):
    def after_step(self, loss): ...

    HookManager().add(hook_class({"after_step": hookimpl(after_step)})())


def hook_with_a_default(broken):
    def after_step(self, step=0): ...

    HookManager().add(hook_class({"after_step": hookimpl(after_step)})())


def hook_that_draws(broken):
    def after_step(self):
        torch.rand(1)

    manager = HookManager()
    manager.add(hook_class({"after_step": hookimpl(after_step)})(), id="wrong")
    manager.watch_random_state()
    manager.after_step(trainer=None, step=0, result=None)


def hook_with_state_of_numpy(broken):
    body = {
        "after_train": hookimpl(lambda self: None),
        "state_dict": lambda self: {"best": np.float64(1)},
        "load_state_dict": lambda self, state: None,
    }
    manager = HookManager()
    manager.add(hook_class(body)(), id="wrong")
    manager.state_dict()


def manifest(broken, **columns):
    values = {"paths": ["a"], "pids": [1], "camids": [1], "splits": ["train"]}
    arrays = {name: np.array(column) for name, column in values.items()} | columns
    return Manifest(name="wrong", root=Path(), **arrays)


def dataset_with_a_list(broken):
    manifest(broken, pids=[1])


def dataset_with_an_unknown_split(broken):
    manifest(broken, splits=np.array(["test"]))


def dataset_with_columns_of_two_lengths(broken):
    manifest(broken, camids=np.array([1, 2]))


def dataset_in_the_order_of_a_set(broken):
    broken.install(
        "datasets",
        "import numpy as np\n"
        "from pathlib import Path\n"
        "def Wrong(*, root: str):\n"
        "  names = list({f'image{i}.png' for i in range(50)})\n"
        "  one = np.ones(50, dtype=np.int64)\n"
        "  return Manifest(name='wrong', root=Path(root), paths=np.array(names), pids=one,\n"
        "                  camids=one, splits=np.array(['train'] * 50))\n",
    )
    case = broken.conformance("DatasetConformance", parameters={"root": "."})
    case.test_two_builds_are_equal(broken.folder)


LABELS = np.arange(8) // 2


def drawn(broken, body, length=2):
    broken.install(
        "samplers",
        "import numpy as np\n"
        "class Wrong:\n"
        f"  def __len__(self): return {length}\n"
        f"  def batches(self, epoch): {body}\n"
        "  def summary(self): return 'one line'\n",
    )
    list(EpochKeys(SAMPLERS.build({"name": "wrong"}), seed=0, num_rows=8))


def sampler_of_torch(broken):
    broken.install(
        "samplers",
        "import torch.utils.data\n"
        "def Wrong(*, labels): return torch.utils.data.RandomSampler(range(len(labels)))\n",
    )
    recipe = Path("recipe.yaml")
    recipe.write_text("data: {batch: {sampler: wrong}}")
    build_sampler(load_config(recipe), LABELS, LABELS)


def sampler_of_single_rows(broken):
    drawn(broken, "yield from np.arange(8)", length=8)


def sampler_of_another_length(broken):
    drawn(broken, "yield np.arange(4)")


TRANSFORM = (
    "import numpy as np\n"
    "from reid_core.data.transforms import ImageTransform\n"
    "class Wrong({base}):\n"
    "  def __init__(self):\n"
    "    super().__init__()\n"
    "    {init}\n"
    "  def __call__(self, image, rng): return {value}\n"
)


def transform_of(broken, base="ImageTransform", init="pass", value="image"):
    broken.install("transforms", TRANSFORM.format(base=base, init=init, value=value))
    images, _ = build_transforms(broken.config(data__transforms=["wrong"]))
    return images


def transform_that_is_a_module(broken):
    transform_of(broken, base="nn.Module")


def transform_with_a_lambda(broken):
    require_picklable(transform_of(broken, init="self.change = lambda image: image"))


def transform_that_makes_floats(broken):
    image = torch.zeros(3, 8, 4, dtype=torch.uint8)
    transform_of(broken, value="image / 255")[0](image, np.random.default_rng(0))


def transform_that_draws_globally(broken):
    broken.install(
        "transforms",
        TRANSFORM.format(base="ImageTransform", init="pass", value="image + np.random.randint(2)"),
    )
    broken.conformance("TransformConformance").test_random_state_of_the_run_is_left_alone()


def optimizer_without_decay(broken):
    broken.install("optimizers", "def Wrong(*, params, lr: float): pass")
    check_config(broken.config(train__optimizer={"name": "wrong", "lr": 0.1}))


def optimizer_that_is_none(broken):
    broken.install("optimizers", "def Wrong(*, params, lr: float, weight_decay: float): pass")
    config = broken.config(train__optimizer={"name": "wrong", "lr": 0.1})
    build_optimizer(config.train.optimizer, torch.nn.Linear(1, 1))


def schedule_that_counts(broken):
    broken.install(
        "schedules",
        "class Wrong:\n"
        "  calls = 0\n"
        "  def factor(self, epoch):\n"
        "    self.calls += 1\n"
        "    return 0.9 ** self.calls\n",
    )
    broken.conformance("ScheduleConformance").test_factor_depends_on_the_epoch_alone()


def schedule_below_zero(broken):
    broken.install("schedules", "class Wrong:\n  def factor(self, epoch): return 1 - epoch")
    broken.conformance("ScheduleConformance").test_factor_is_a_finite_number()


PROTOCOL = (
    "from reid_core.evaluation import Protocol\n"
    "class AProtocol(Protocol):\n"
    "  def excluded(self, query, gallery): return gallery.pids == -1\n"
    "def make(): return AProtocol(name='wrong', description='wrong')\n"
)


def protocol_that_is_a_class(broken):
    broken.install("protocols", PROTOCOL, "reid_plugin_wrong:AProtocol")
    check_config(broken.config(evaluate__protocol="wrong"))


def protocol_with_one_row(broken):
    broken.install("protocols", PROTOCOL, "reid_plugin_wrong:make")
    broken.conformance("ProtocolConformance").test_excluded_is_a_table_of_bools()


RERANKER = (
    "from reid_core.evaluation import DistanceReranker, pairwise_distance\n"
    "class AReranker(DistanceReranker):\n"
    "  def needed_bytes(self, num_query, num_gallery, width): return num_gallery\n"
    "  def distances(self, query, gallery, *, distance):\n"
    "    matrix = pairwise_distance(query, gallery, distance).numpy()\n"
    "    return lambda start, stop: matrix\n"
    "def make(): return AReranker(name='wrong', description='wrong')\n"
)


def reranker_that_is_a_class(broken):
    broken.install("rerankers", RERANKER, "reid_plugin_wrong:AReranker")
    check_config(broken.config(evaluate__rerank=["wrong"]))


def reranker_that_gives_tensors(broken):
    source = RERANKER.replace(".numpy()", "").replace(": matrix", ": matrix[start:stop]")
    broken.install("rerankers", source, "reid_plugin_wrong:make")
    (reranker,) = build_rerankers(broken.config(evaluate__rerank=["wrong"]))
    query, gallery = torch.ones(70, 4), torch.ones(900, 4)
    reranked(query, gallery, distance="cosine", rerankers=[reranker])(0, 64)


def reranker_that_ignores_the_block(broken):
    broken.install("rerankers", RERANKER, "reid_plugin_wrong:make")
    broken.conformance("RerankerConformance").test_results_have_the_shape_of_what_they_replace()


def recipes_that_are_not_there(broken):
    broken.install(
        "recipes", "", "reid_plugin_wrong.recipes", **{"reid_plugin_wrong/recipes/__init__.py": ""}
    )
    broken.conformance("RecipeConformance").test_recipes_load()


def recipe_of_what_is_not_installed(broken):
    broken.install(
        "recipes",
        "",
        "reid_plugin_wrong.recipes",
        **{
            "reid_plugin_wrong/recipes/__init__.py": "",
            "reid_plugin_wrong/recipes/one.yaml": "model: {backbone: nobodys}",
        },
    )
    broken.conformance("RecipeConformance").test_recipes_name_what_is_installed()


SCENARIOS = {
    "backbones": [
        backbone_without_feature_dim,
        backbone_that_is_no_module,
        backbone_with_another_width,
    ],
    "heads": [
        head_whose_classifier_has_another_name,
        head_with_two_names_for_one_branch,
        head_that_is_no_module,
    ],
    "losses": [
        loss_with_a_value_an_image,
        loss_without_gradient,
        loss_that_reports_a_float,
        loss_that_keeps_its_graph,
        loss_that_needs_positives,
    ],
    "models": [model_that_is_a_plain_module, model_that_returns_nothing],
    "hooks": [
        hook_with_a_misspelt_method,
        hook_without_a_mark,
        hook_with_an_unknown_argument,
        hook_with_a_default,
        hook_that_draws,
        hook_with_state_of_numpy,
    ],
    "datasets": [
        dataset_with_a_list,
        dataset_with_an_unknown_split,
        dataset_with_columns_of_two_lengths,
        dataset_in_the_order_of_a_set,
    ],
    "samplers": [sampler_of_torch, sampler_of_single_rows, sampler_of_another_length],
    "transforms": [
        transform_that_is_a_module,
        transform_with_a_lambda,
        transform_that_makes_floats,
        transform_that_draws_globally,
    ],
    "optimizers": [optimizer_without_decay, optimizer_that_is_none],
    "schedules": [schedule_that_counts, schedule_below_zero],
    "protocols": [protocol_that_is_a_class, protocol_with_one_row],
    "rerankers": [
        reranker_that_is_a_class,
        reranker_that_gives_tensors,
        reranker_that_ignores_the_block,
    ],
    "recipes": [recipes_that_are_not_there, recipe_of_what_is_not_installed],
}


def shown(page, kind):
    """Return a pattern for each message of a page; an ellipsis stands for anything."""
    blocks = page(f"docs/kinds/{kind}.md").section("Common mistakes").blocks("text")
    return [".*".join(re.escape(p) for p in block.text.strip().split("…")) for block in blocks]


def test_every_kind_has_scenarios():
    assert set(SCENARIOS) == set(KINDS)


@pytest.mark.parametrize(
    ("kind", "scenario"),
    [(kind, scenario) for kind, scenarios in SCENARIOS.items() for scenario in scenarios],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_the_page_shows_the_message(kind, scenario, page, site, tmp_path):
    with pytest.raises((ReidError, AssertionError)) as caught:
        scenario(Broken(site, tmp_path))
    message = str(caught.value)
    matches = [pattern for pattern in shown(page, kind) if re.fullmatch(pattern, message, re.S)]
    assert len(matches) == 1, message


@pytest.mark.parametrize("kind", SCENARIOS)
def test_each_message_on_the_page_has_a_scenario(kind, page):
    assert len(shown(page, kind)) == len(SCENARIOS[kind])
