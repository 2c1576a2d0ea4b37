"""What a probe says of single components; all of them are looked at in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from textwrap import dedent

import pytest

from reid_core.inspection.finding import Finding
from reid_core.inspection.inspect_plugins import inspect_plugins
from reid_core.inspection.report import ComponentReport
from reid_core.testing.fake_dist import FakeSite

MODULE = "from torch import nn\nclass Part(nn.Module):\n"
LOSS = f"{MODULE}    def forward(self, output, batch):\n        return output\n"
BACKBONE = f"{MODULE}    feature_dim = 8\n    def forward(self, images):\n        return images\n"
HOOK = "from reid_core import hookimpl\nclass Part:\n    @hookimpl\n"
TRANSFORM = "from reid_core.data.transforms import ImageTransform\nclass Part(ImageTransform):\n"
SAMPLER = """
import numpy as np
class Part:
    def __init__(self, *, labels): pass
    def __len__(self): return 1
    def summary(self): return "one"
    def batches(self, epoch):
"""


def head(body: str, arguments: str = "feature_dim, num_classes") -> str:
    return dedent(f"""
        from torch import nn
        class Part(nn.Module):
            def __init__(self, *, {arguments}):
                super().__init__()
                {body}
            def forward(self, features, pids=None): return features
    """)


#: name: kind, module, and (level, rule, part of the message) of the one thing to be said.
CASES: dict[str, tuple[str, str, tuple[str, str, str]]] = {
    "missing_module": (
        "losses",
        "import not_there\n",
        ("fault", "load", "No module named 'not_there'"),
    ),
    "bare_import_error": ("losses", "raise ImportError()\n", ("fault", "load", "ImportError()")),
    "odd_error": ("losses", "raise ValueError('odd')\n", ("fault", "load", "ValueError: odd")),
    "exits": ("losses", "import sys; sys.exit(3)\n", ("fault", "load", "SystemExit")),
    "interrupts": (
        "losses",
        "raise KeyboardInterrupt\n",
        ("fault", "load", "its import raised KeyboardInterrupt"),
    ),
    "not_there": ("losses", "Parts = 1\n", ("fault", "load", "no attribute 'Part'")),
    "a_number": (
        "losses",
        "Part = 3\n",
        ("fault", "load", "of type int; expected a class or function"),
    ),
    "hard_exit": (
        "losses",
        "import os; os._exit(0)\n",
        ("fault", "crash", "ended the process with exit code 0 while it was imported"),
    ),
    "segfault": (
        "losses",
        "import ctypes\nctypes.string_at(0)\n",
        ("fault", "crash", "crashed the process with SIGSEGV while it was imported ("),
    ),
    "prints": (
        "losses",
        f"print('hello', 'you')\n{LOSS}",
        ("warning", "import-output", "prints 'hello you' when it is imported"),
    ),
    "prints_in_c": (
        "losses",
        f"import os; os.write(2, b'from below')\n{LOSS}",
        ("warning", "import-output", "prints 'from below'"),
    ),
    "replaces_stdout": (
        "losses",
        f"import io, sys\nprint('first')\nsys.stdout = io.StringIO()\n{LOSS}",
        ("warning", "import-output", "prints 'first'"),
    ),
    "warns": (
        "losses",
        f"import warnings; warnings.warn('old thing', stacklevel=1)\n{LOSS}",
        ("warning", "import-output", "old thing"),
    ),
    "sets_dtype": (
        "losses",
        f"import torch; torch.set_default_dtype(torch.float64)\n{LOSS}",
        ("fault", "global-state", "from torch.float32 to torch.float64"),
    ),
    "seeds_torch": (
        "losses",
        f"import torch; torch.manual_seed(5)\n{LOSS}",
        ("fault", "global-state", "changes torch's random state"),
    ),
    "seeds_numpy": (
        "losses",
        f"import numpy; numpy.random.seed(5)\n{LOSS}",
        ("fault", "global-state", "changes NumPy's random state"),
    ),
    "seeds_python": (
        "losses",
        f"import random; random.seed(5)\n{LOSS}",
        ("fault", "global-state", "changes Python's random state"),
    ),
    "sets_threads": (
        "losses",
        f"import torch; torch.set_num_threads(torch.get_num_threads() + 1)\n{LOSS}",
        ("fault", "global-state", "changes torch.get_num_threads()"),
    ),
    "sets_cudnn": (
        "losses",
        f"import torch; torch.backends.cudnn.benchmark = True\n{LOSS}",
        ("fault", "global-state", "torch.backends.cudnn.benchmark, from False to True"),
    ),
    "sets_start_method": (
        "losses",
        f"import multiprocessing as m; m.set_start_method('spawn')\n{LOSS}",
        ("fault", "global-state", "the multiprocessing start method, from None to spawn"),
    ),
    "filters_warnings": (
        "losses",
        f"import warnings; warnings.simplefilter('ignore')\n{LOSS}",
        ("warning", "global-state", "changes the warnings filters"),
    ),
    "configures_logging": (
        "losses",
        f"import logging; logging.basicConfig()\n{LOSS}",
        ("warning", "global-state", "changes the root logger"),
    ),
    "fetches_at_import": (
        "losses",
        "import socket\ntry: socket.create_connection(('a.invalid', 80))\nexcept OSError: pass\n"
        f"{LOSS}",
        ("fault", "network", "importing it asks for a.invalid"),
    ),
    "takes_anything": (
        "losses",
        f"{LOSS}    def __init__(self, **options):\n        super().__init__()\n",
        ("fault", "signature", "takes **options, so a misspelt parameter"),
    ),
    "positional_only": (
        "losses",
        f"{LOSS}    def __init__(self, margin, /):\n        super().__init__()\n",
        ("fault", "signature", "parameter 'margin' is positional-only"),
    ),
    "wants_branches": (
        "losses",
        f"{LOSS}    def __init__(self, *, branches=None):\n        super().__init__()\n",
        ("warning", "signature", "parameter 'branches' can never be set"),
    ),
    "wants_a_name": (
        "backbones",
        f"{BACKBONE}    def __init__(self, *, name):\n        super().__init__()\n",
        ("fault", "signature", "parameter 'name' can never be set"),
    ),
    "no_module": (
        "losses",
        "class Part: pass\n",
        ("fault", "contract", "is the class Part, and a loss is a torch.nn.modules.module.Module"),
    ),
    "no_forward": (
        "losses",
        f"{MODULE}    pass\n",
        ("fault", "contract", "does not define forward"),
    ),
    "no_feature_dim": (
        "backbones",
        LOSS,
        ("fault", "contract", "has feature_dim None; expected a positive integer"),
    ),
    "odd_tokens": (
        "backbones",
        f"{BACKBONE}    num_prefix_tokens = 'one'\n",
        ("fault", "contract", "has num_prefix_tokens 'one'"),
    ),
    "gives_a_list": (
        "backbones",
        "def Part():\n    return []\n",
        ("fault", "contract", "gave a list; expected a torch.nn.Module"),
    ),
    "no_embedding_dim": (
        "heads",
        head("pass"),
        ("fault", "contract", "has embedding_dim None; expected a positive"),
    ),
    "always_classifies": (
        "heads",
        head("self.embedding_dim = 8; self.classifier = nn.Linear(8, num_classes or 2)"),
        ("fault", "contract", "has classifier.weight although it was built without classes"),
    ),
    "needs_classes": (
        "heads",
        head("self.embedding_dim = 8; self.classifier = nn.Linear(8, num_classes)"),
        ("fault", "build", "cannot be built with its defaults: TypeError"),
    ),
    "no_model": (
        "models",
        LOSS,
        ("fault", "contract", "and a model is a reid_core.contracts.ReidModel"),
    ),
    "no_transform": (
        "transforms",
        "class Part:\n    def __call__(self, image, rng): return image\n",
        ("fault", "contract", "a reid_core.data.transforms.base.ImageTransform or a"),
    ),
    "no_call": (
        "transforms",
        f"{TRANSFORM}    pass\n",
        ("fault", "contract", "does not define __call__"),
    ),
    "holds_a_lambda": (
        "transforms",
        f"{TRANSFORM}    def __init__(self): self.f = lambda x: x\n"
        "    def __call__(self, image, rng): return image\n",
        ("fault", "contract", "cannot be sent to worker processes"),
    ),
    "yields_rows": (
        "samplers",
        f"{SAMPLER}        yield 3\n",
        ("fault", "contract", "a sampler, not a batch sampler"),
    ),
    "yields_lists": (
        "samplers",
        f"{SAMPLER}        yield [3]\n",
        ("fault", "contract", "yields batches of <class 'list'>"),
    ),
    "sampler_of_torch": (
        "samplers",
        "class Part:\n    def __iter__(self): yield 1\n    def __len__(self): return 1\n",
        ("fault", "contract", "has no batches and no summary; it is a sampler of torch"),
    ),
    "no_factor": (
        "schedules",
        "class Part: pass\n",
        ("fault", "contract", "class Part has no factor"),
    ),
    "not_finite": (
        "schedules",
        "class Part:\n    def factor(self, epoch): return float('nan')\n",
        ("fault", "contract", "has factor(0.0) nan; expected a number that is 0 or more"),
    ),
    "no_weight_decay": (
        "optimizers",
        "import torch\nclass Part(torch.optim.SGD):\n    def __init__(self, params, lr): pass\n",
        ("fault", "signature", "does not take weight_decay, which every optimizer is given"),
    ),
    "no_protocol": (
        "protocols",
        "def Part(): return 3\n",
        ("fault", "contract", "gave a int; expected a reid_core.evaluation.Protocol"),
    ),
    "lists_rows": (
        "datasets",
        "def Part(root: str) -> list[str]: return []\n",
        (
            "fault",
            "contract",
            "returns a list, as it is annotated; expected a reid_core.data.manifest",
        ),
    ),
    "misspelt_hook": (
        "hooks",
        f"{HOOK}    def afterstep(self, trainer): pass\n",
        ("fault", "hook", "there is no hook 'afterstep'; did you mean after_step?"),
    ),
    "unknown_argument": (
        "hooks",
        f"{HOOK}    def after_step(self, loss): pass\n",
        ("fault", "hook", "after_step has no argument 'loss'"),
    ),
    "default_argument": (
        "hooks",
        f"{HOOK}    def after_step(self, step=0): pass\n",
        ("fault", "hook", "the argument 'step' has a default; remove it"),
    ),
    "unmarked": (
        "hooks",
        "class Part:\n    def after_step(self): pass\n",
        ("fault", "hook", "has the name of a hook but is not marked"),
    ),
    "no_hook_at_all": (
        "hooks",
        "class Part:\n    def helper(self): pass\n",
        ("fault", "hook", "implements no hook"),
    ),
    "nearly_a_hook": (
        "hooks",
        f"{HOOK}    def after_step(self): pass\n    def before_steps(self): pass\n",
        ("warning", "hook", "did you mean the hook before_step?"),
    ),
    "idle_hook": (
        "hooks",
        "from reid_core import HookBase\nclass Part(HookBase):\n    def helper(self): pass\n",
        ("warning", "hook", "overrides no method of HookBase, so it does nothing"),
    ),
    "misspelt_in_the_old_way": (
        "hooks",
        "from reid_core import HookBase\nclass Part(HookBase):\n"
        "    def after_train(self): pass\n    def after_stepp(self): pass\n",
        ("warning", "hook", "did you mean the hook after_step?"),
    ),
    "hook_of_a_function": (
        "hooks",
        "class Hook:\n    def after_step(self): pass\ndef Part(): return Hook()\n",
        ("fault", "contract", "has the name of a hook but is not marked"),
    ),
    "breaks_when_built": (
        "losses",
        f"{LOSS}    def __init__(self):\n        raise RuntimeError('no')\n",
        ("fault", "build", "cannot be built with its defaults: RuntimeError: no ("),
    ),
    "forgets_super": (
        "losses",
        f"{LOSS}    def __init__(self):\n        self.layer = nn.Linear(2, 2)\n",
        ("fault", "build", "Module.__init__() call ("),
    ),
    "exits_when_built": (
        "losses",
        f"{LOSS}    def __init__(self):\n        raise SystemExit(2)\n",
        ("fault", "build", "cannot be built with its defaults: SystemExit: 2"),
    ),
    "dies_when_built": (
        "losses",
        f"{LOSS}    def __init__(self):\n        import os; os._exit(4)\n",
        ("fault", "crash", "ended the process with exit code 4 while it was built"),
    ),
    "optional_package": (
        "losses",
        "from reid_core.errors import PluginError\n"
        f"{LOSS}    def __init__(self):\n"
        "        try:\n            import not_there\n"
        "        except ImportError as error:\n"
        "            raise PluginError('pip install not_there') from error\n",
        ("warning", "build", "cannot be built here: pip install not_there"),
    ),
}

#: name: kind, module, and why it was not built; nothing is to be said of any of them.
GOOD: dict[str, tuple[str, str, str]] = {
    "fine": ("losses", LOSS, ""),
    "needs_margin": (
        "losses",
        f"{LOSS}    def __init__(self, *, margin: float):\n        super().__init__()\n",
        "needs margin",
    ),
    "one_of_two": (
        "losses",
        "from reid_core.errors import ConfigError\n"
        f"{LOSS}    def __init__(self, *, a=None, b=None):\n        raise ConfigError('a or b')\n",
        "refuses its defaults: a or b",
    ),
    "downloads": (
        "backbones",
        f"{BACKBONE}    def __init__(self):\n        super().__init__()\n"
        "        import socket; server = socket.create_server(('127.0.0.1', 0))\n"
        "        socket.create_connection(server.getsockname())\n",
        "its defaults need the network (127.0.0.1)",
    ),
    "head_of_tokens": (
        "heads",
        "from reid_core.errors import ConfigError\n"
        + head(
            "self.embedding_dim = feature_dim\n"
            "                if num_prefix_tokens is None: raise ConfigError('tokens only')",
            "feature_dim, num_prefix_tokens",
        ),
        "",
    ),
    "reads_files": ("datasets", "def Part(): raise OSError\n", "reads or writes files"),
    "own_method": (
        "hooks",
        f"{HOOK}    def after_step(self): pass\n    def step(self): pass\n",
        "",
    ),
    "leaves_a_thread": (
        "losses",
        f"import threading; threading.Thread(target=threading.Event().wait).start()\n{LOSS}",
        "",
    ),
    "old_hook": (
        "hooks",
        "from reid_core import HookBase\nclass Part(HookBase):\n    def after_step(self): pass\n",
        "",
    ),
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ComponentReport]]:
    """Everything above, installed as one distribution and checked in one go."""
    parts = {name: (kind, source) for name, (kind, source, _) in {**CASES, **GOOD}.items()}
    groups: dict[str, dict[str, str]] = {}
    for name, (kind, _) in parts.items():
        groups.setdefault(kind, {})[name] = f"shelf_{name}:Part"
    site = FakeSite(tmp_path_factory.mktemp("shelf") / "site")
    site(
        "reid-plugin-shelf",
        groups,
        requires=["reid-core>=0.1"],
        modules={f"shelf_{name}.py": source for name, (_, source) in parts.items()},
    )
    (report,) = inspect_plugins(["reid-plugin-shelf"], timeout_seconds=60)
    yield {component.name: component for component in report.components}
    site.uninstall()


@pytest.mark.parametrize("name", CASES)
def test_a_broken_component_is_told_what_is_wrong_with_it(
    name: str,
    reports: dict[str, ComponentReport],
    only: Callable[[ComponentReport], Finding],
) -> None:
    level, rule, text = CASES[name][2]
    finding = only(reports[name])
    assert (finding.level, finding.rule) == (level, rule)
    assert text in finding.message
    assert reports[name].verdict == level


def test_a_failed_constructor_is_told_with_the_line_of_the_plugin(
    reports: dict[str, ComponentReport], only: Callable[[ComponentReport], Finding]
) -> None:
    forgotten = only(reports["forgets_super"]).message
    assert forgotten.endswith("shelf_forgets_super.py:6); mend it there")
    deep = only(reports["needs_classes"]).message
    assert "shelf_needs_classes.py:6); raise reid_core.errors.ConfigError where" in deep


@pytest.mark.parametrize("name", GOOD)
def test_nothing_is_said_of_a_good_component(
    name: str, reports: dict[str, ComponentReport]
) -> None:
    report = reports[name]
    assert (report.findings, report.verdict) == ((), "ok")
    assert report.import_ms is not None
    reason = GOOD[name][2]
    assert report.is_built == (reason == "")
    assert reason in report.remark


def test_an_error_names_the_line_that_raised_it(reports: dict[str, ComponentReport]) -> None:
    assert "shelf_odd_error.py:1" in reports["odd_error"].findings[0].message
    assert "shelf_segfault.py:2" in reports["segfault"].findings[0].message
    assert "shelf_breaks_when_built.py:6" in reports["breaks_when_built"].findings[0].message


def test_what_an_import_prints_is_kept(reports: dict[str, ComponentReport]) -> None:
    assert reports["prints"].output == "hello you\n"
    assert reports["prints_in_c"].output == "from below"
    assert reports["fine"].output == ""


def test_a_component_that_dies_when_it_is_built_was_loaded(
    reports: dict[str, ComponentReport],
) -> None:
    assert reports["dies_when_built"].import_ms is not None
    assert reports["hard_exit"].import_ms is None
