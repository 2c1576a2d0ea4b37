import warnings
from collections.abc import Callable, Iterator

import pytest

from reid_core.plugins.registries import SCHEDULES
from reid_core.testing import Conformance, ScheduleConformance
from reid_core.testing.base import SlowImportWarning
from reid_core.testing.fake_dist import FakeSite

GOOD = """
import sys
import time

class Example:
    def __init__(self, *, power: float = 1.0):
        self.power = power

    def factor(self, epoch):
        return self.power
"""
IMPORTED = "import time"
SIGNATURE = "def __init__(self, *, power: float = 1.0):"


def named(**attributes: object) -> Conformance:
    return type("TestMine", (ScheduleConformance,), attributes)()


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"dist": "reid-core"}, "TestMine.name is not set; write name ="),
        ({"name": "cosine"}, 'TestMine.dist is not set; write dist = "reid-plugin-my-loss"'),
        (
            {"name": "cosine", "dist": "reid-plugin-none"},
            "unknown schedule 'reid-plugin-none/cosine'",
        ),
        (
            {"name": "cosin", "dist": "reid-core"},
            "expected the entry point 'cosin' in the group reid_core.schedules of reid-core; entry "
            "points are read when the package is installed(.|\n)*pip install -e . again",
        ),
    ],
)
def test_a_class_must_name_what_is_installed(attributes: dict[str, str], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        named(**attributes).test_comes_from_its_installed_entry_point()


def test_an_object_of_this_process_is_not_enough() -> None:
    class Mine:
        def factor(self, epoch: float) -> float:
            return 1.0

    SCHEDULES.register(Mine, name="kit_local")
    try:
        for dist in ("local", "reid-core"):
            with pytest.raises(AssertionError, match="expected the entry point 'kit_local'"):
                named(name="kit_local", dist=dist).test_comes_from_its_installed_entry_point()
    finally:
        SCHEDULES._local.pop("kit_local")


def test_the_spelling_of_the_distribution_does_not_matter() -> None:
    assert named(name="cosine", dist="Reid_Core").ref().dist == "reid-core"


def test_a_class_without_a_kind_is_told_to_derive_from_one() -> None:
    component = type("TestMine", (Conformance,), {"name": "cosine", "dist": "reid-core"})()
    with pytest.raises(AssertionError, match=r"kind|derive it from the class of a kind"):
        component.test_comes_from_its_installed_entry_point()


@pytest.mark.parametrize("name", ["Example", "my-loss", "2nd", "été", "a b"])
def test_a_name_against_the_rule_is_found(name: str) -> None:
    with pytest.raises(AssertionError, match="must begin with a small letter"):
        named(name=name, dist="reid-core").test_name_follows_the_rule()


def test_a_signature_that_takes_anything_is_found(installed_component) -> None:
    new = "def __init__(self, *, power: float = 1.0, **kwargs):"
    component = installed_component(ScheduleConformance, GOOD, SIGNATURE, new)
    with pytest.raises(AssertionError, match=r"takes any keyword \(\*\*kwargs\)"):
        component.test_unknown_parameter_is_refused()


def test_a_parameter_without_default_must_be_given(installed_component) -> None:
    new = "def __init__(self, *, power: float):"
    component = installed_component(ScheduleConformance, GOOD, SIGNATURE, new)
    with pytest.raises(
        AssertionError, match=r"'power' is missing(.|\n)*set `parameters` in TestExample"
    ):
        component.build()
    given = installed_component(
        ScheduleConformance, GOOD, SIGNATURE, new, parameters={"power": 0.5}
    )
    assert given.build_schedule().factor(3.0) == 0.5


def test_an_error_of_the_constructor_is_told_with_the_parameters(installed_component) -> None:
    component = installed_component(
        ScheduleConformance, GOOD, "self.power = power", "self.power = 1 / 0"
    )
    with pytest.raises(AssertionError, match=r"raised ZeroDivisionError when it was built with"):
        component.build()


IMPORT_FAULTS = {
    "it prints": ("import_prints_nothing", "print('hello')", "printed 'hello'"),
    "it prints from below": (
        "import_prints_nothing", "import os; os.write(2, b'warning')", "printed 'warning'",
    ),
    "it fails": ("import_prints_nothing", "import nowhere_to_be_found", "ModuleNotFoundError"),
    "it leaves": ("import_prints_nothing", "sys.exit(3)", "SystemExit: 3"),
    "it ends the process": (
        "import_prints_nothing", "import os; os._exit(7)", "ended the process with exit code 7",
    ),
    "it changes the default dtype": (
        "import_changes_no_global_state",
        "import torch; torch.set_default_dtype(torch.float64)",
        "torch's default dtype from torch.float32 to torch.float64",
    ),
    "it seeds": (
        "import_changes_no_global_state", "import torch; torch.manual_seed(1)",
        "torch's random state",
    ),
    "it seeds NumPy": (
        "import_changes_no_global_state", "import numpy; numpy.random.seed(1)",
        "NumPy's random state",
    ),
    "it draws from Python's generator": (
        "import_changes_no_global_state", "import random; random.random()",
        "Python's random state",
    ),
    "it sets the number of threads": (
        "import_changes_no_global_state", "import torch; torch.set_num_threads(3)",
        r"torch.get_num_threads\(\) from \d+ to 3",
    ),
    "it silences warnings": (
        "import_changes_no_global_state", "import warnings; warnings.simplefilter('ignore')",
        "the warnings filters",
    ),
    "it turns benchmarking on": (
        "import_changes_no_global_state",
        "import torch; torch.backends.cudnn.benchmark = True",
        "torch.backends.cudnn.benchmark from False to True",
    ),
    "it allows TF32": (
        "import_changes_no_global_state",
        "import torch; torch.backends.cuda.matmul.allow_tf32 = True",
        "torch.backends.cuda.matmul.allow_tf32 from False to True",
    ),
    "it sets the start method": (
        "import_changes_no_global_state",
        "import multiprocessing; multiprocessing.set_start_method('spawn')",
        "the multiprocessing start method from None to spawn",
    ),
    "it handles signals": (
        "import_changes_no_global_state",
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)", "the signal handlers",
    ),
    "it sets up logging": (
        "import_changes_no_global_state", "import logging; logging.basicConfig(level=10)",
        "the root logger",
    ),
}  # fmt: skip


CLEAN = "it does nothing"
SLOW = "it takes long"
ENDING = "it ends the process"
IMPORTS = {
    **{fault: code for fault, (_, code, _) in IMPORT_FAULTS.items()},
    CLEAN: "import math",
    SLOW: "end = time.process_time() + 1.2\nwhile time.process_time() < end:\n    pass",
}


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Conformance]]:
    """A function from what an import does to the kit's class for it.

    All are components of one distribution, so that one child process finds everything out; what
    ends the process is another distribution.
    """
    site = FakeSite(tmp_path_factory.mktemp("site"))
    names = {does: f"import_{i}" for i, does in enumerate(IMPORTS)}
    dists = dict.fromkeys(IMPORTS, "reid-plugin-faulty") | {ENDING: "reid-plugin-ending"}
    for dist in set(dists.values()):
        chosen = [does for does in IMPORTS if dists[does] == dist]
        site(
            dist,
            {"schedules": {names[does]: f"{names[does]}:Example" for does in chosen}},
            modules={
                f"{names[does]}.py": GOOD.replace(IMPORTED, f"{IMPORTED}\n{IMPORTS[does]}")
                for does in chosen
            },
        )
    yield lambda does: named(name=names[does], dist=dists[does])
    site.uninstall()


@pytest.mark.parametrize("fault", IMPORT_FAULTS)
def test_each_fault_of_an_import_is_found(imported, fault: str) -> None:
    check, _, message = IMPORT_FAULTS[fault]
    with pytest.raises(AssertionError, match=message):
        getattr(imported(fault), f"test_{check}")()


def test_a_clean_import_passes_beside_the_others(imported) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        imported(CLEAN).test_import_prints_nothing()
        imported(CLEAN).test_import_changes_no_global_state()


def test_a_slow_import_is_reported_and_no_failure(imported) -> None:
    with pytest.warns(SlowImportWarning, match=r"takes 1\.\d s of processor time beyond torch"):
        imported(SLOW).test_import_prints_nothing()
