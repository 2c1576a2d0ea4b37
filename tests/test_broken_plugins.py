"""Twelve ways in which a plugin can be broken.

All twelve are installed at the same time. The list works, a run that names none of them is bit for
bit the run without them, and a run that names one gets a message that says what to do, and the exit
code that belongs to it.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("broken_plugins")]

HOOK = "from reid_core import hookimpl\n\n\nclass Hook:\n"

#: Distribution: kind, name, value of the entry point, code of its module, requirements.
BROKEN = {
    "import-error": ("heads", "broken_import", None, "raise ValueError('broken at import')", []),
    "exits": ("heads", "exits", None, "import sys\nsys.exit(0)", []),
    "needs-module": (
        "heads",
        "needs_module",
        None,
        "import a_module_that_is_not_there",
        ["a-module-that-is-not-there>=2"],
    ),
    "wrong-type": ("heads", "wrong_type", None, "Thing = {'a': 1}", []),
    "too-new": ("heads", "too_new", None, "class Thing: ...", ["reid-core>=99"]),
    "twin-a": ("heads", "twin", None, "class Thing: ...", []),
    "twin-b": ("heads", "twin", None, "class Thing: ...", []),
    "bad-metadata": ("heads", "bad_metadata", "this is no import path", "", []),
    "misspelt": (
        "hooks",
        "misspelt",
        None,
        f"{HOOK}    @hookimpl\n    def after_stepp(self, step): ...\n\nThing = Hook",
        [],
    ),
    "default-argument": (
        "hooks",
        "default_argument",
        None,
        f"{HOOK}    @hookimpl\n    def after_step(self, step=-1): ...\n\nThing = Hook",
        [],
    ),
    "unpicklable": (
        "transforms",
        "unpicklable",
        None,
        """
        from reid_core.data.transforms import ImageTransform


        class Thing(ImageTransform):
            def __init__(self):
                self.change = lambda image: image

            def __call__(self, image, rng):
                return self.change(image)
        """,
        [],
    ),
    "raises": (
        "hooks",
        "raises",
        None,
        f"""{HOOK}    @hookimpl
    def after_step(self, step):
        if step == 3:
            raise OSError("the tracker is gone")

Thing = Hook""",
        [],
    ),
    "noisy": (
        "hooks",
        "noisy",
        None,
        f"import torch\n{HOOK}    @hookimpl\n    def after_step(self):\n        torch.rand(1)\n\n"
        "Thing = Hook",
        [],
    ),
}


def install(site: Path, dist: str) -> None:
    """Write a distribution as pip leaves it."""
    kind, name, value, code, requirements = BROKEN[dist]
    full = f"reid-plugin-{dist}"
    module = full.replace("-", "_")
    (site / f"{module}.py").write_text(textwrap.dedent(code))
    info = site / f"{module}-1.2.3.dist-info"
    info.mkdir()
    requires = "".join(f"Requires-Dist: {requirement}\n" for requirement in requirements)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {full}\nVersion: 1.2.3\n{requires}"
    )
    entry = value or f"{module}:Thing"
    (info / "entry_points.txt").write_text(f"[reid_core.{kind}]\n{name} = {entry}\n")


@pytest.fixture(scope="module")
def all_broken(tmp_path_factory):
    """The environment of a process in which all of them are installed."""
    site = tmp_path_factory.mktemp("site")
    for dist in BROKEN:
        install(site, dist)
    return {"PYTHONPATH": str(site)}


def test_the_list_works_and_has_every_one_of_them(run, all_broken):
    result = run("reid-plugins", "list", "--json", env=all_broken)
    assert result.returncode == 0, result.stderr
    listed = {c["name"]: c["status"] for c in json.loads(result.stdout)["components"]}
    statuses = {name: listed[name] for _, name, *_ in BROKEN.values()}
    assert statuses == {
        **dict.fromkeys([name for _, name, *_ in BROKEN.values()], "ok"),
        "too_new": "incompatible",
        "twin": "conflict",
        "bad_metadata": "bad-metadata",
    }


def test_a_run_that_names_none_of_them_is_untouched(run, all_broken, small_osnet, tmp_path):
    rows = {}
    for name, environment in (("with", all_broken), ("without", None)):
        result = run("reid-train", *small_osnet, "--output", name, env=environment)
        assert result.returncode == 0, result.stderr
        assert "reid-plugin" not in result.stderr
        text = (tmp_path / name / "metrics.jsonl").read_text().splitlines()
        numbers = [json.loads(line) for line in text]
        rows[name] = [{k: v for k, v in n.items() if "time/" not in k} for n in numbers]
    assert rows["with"] == rows["without"]


CASES = [
    (
        "model.head=broken_import",
        4,
        [
            "head 'broken_import' of reid-plugin-import-error 1.2.3 "
            "(reid_plugin_import_error:Thing) cannot be loaded",
            "ValueError: broken at import",
            "reid_plugin_import_error.py:1",
            "pip install --upgrade reid-plugin-import-error",
        ],
    ),
    ("model.head=exits", 4, ["reid-plugin-exits 1.2.3", "SystemExit: 0"]),
    (
        "model.head=needs_module",
        4,
        [
            "reid-plugin-needs-module 1.2.3",
            "No module named 'a_module_that_is_not_there'",
            "pip install 'a-module-that-is-not-there>=2'",
        ],
    ),
    (
        "model.head=wrong_type",
        4,
        ["reid-plugin-wrong-type 1.2.3", "an object of type dict; expected a class"],
    ),
    ("model.head=too_new", 4, ["reid-plugin-too-new 1.2.3", "needs reid-core>=99"]),
    (
        "model.head=twin",
        4,
        ["2 distributions", "reid-plugin-twin-a/twin or reid-plugin-twin-b/twin"],
    ),
    ("model.head=bad_metadata", 4, ["reid-plugin-bad-metadata", "'this is no import path'"]),
    (
        "hooks=[misspelt]",
        4,
        ["hook Hook (reid-plugin-misspelt 1.2.3)", "did you mean after_step?"],
    ),
    (
        "hooks=[default_argument]",
        4,
        [
            "hook Hook (reid-plugin-default-argument 1.2.3)",
            "after_step: the argument 'step' has a default; remove it",
        ],
    ),
    (
        "data.transforms=[unpicklable]",
        4,
        ["unpicklable", "reid-plugin-unpicklable 1.2.3", "data.workers=0"],
    ),
    (
        "hooks=[raises]",
        1,
        [
            "OSError: the tracker is gone",
            "raised by hook 'raises' (reid-plugin-raises 1.2.3) in after_step",
            "the state after step 4 is saved",
            "--resume out/checkpoints/emergency.pt",
        ],
    ),
    (
        "hooks=[noisy]",
        4,
        [
            "hook 'noisy' (reid-plugin-noisy 1.2.3) changed the global random state of torch",
            "draw from a generator of its own",
        ],
    ),
]


def test_there_are_twelve_cases():
    assert len(CASES) == 12


@pytest.mark.parametrize(("setting", "code", "messages"), CASES, ids=[case[0] for case in CASES])
def test_a_run_that_names_one_is_told_what_is_wrong(
    setting, code, messages, run, all_broken, small_osnet, tmp_path
):
    workers = ["--set", "data.workers=2"] if "unpicklable" in setting else []
    # The last --set of a key counts; the step-3 hook needs a fourth step of its epoch.
    options = [*small_osnet, "--set", setting, *workers, "--output", "out"]
    result = run("reid-train", *options, env=all_broken)
    assert result.returncode == code, result.stderr
    for message in messages:
        assert message in result.stderr, result.stderr
    # A user's mistake has no traceback; a defect of a plugin at run time has.
    assert ("Traceback" in result.stderr) == (code == 1)
    reached_training = "training on" in result.stderr
    assert reached_training == ("raises" in setting or "noisy" in setting)
