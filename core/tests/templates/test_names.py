from __future__ import annotations

import ast
import re

import pytest

from reid_core.errors import UsageError
from reid_core.templates import TEMPLATE_KINDS, PluginNames, parse_names

LOSS, DATASET = TEMPLATE_KINDS["loss"], TEMPLATE_KINDS["dataset"]


@pytest.mark.parametrize(
    "text", ["my-loss", "my_loss", "reid-plugin-my-loss", "reid_plugin_my_loss"]
)
def test_every_spelling_gives_the_same_names(text):
    assert parse_names(text, LOSS) == PluginNames(
        dist="reid-plugin-my-loss",
        module="reid_plugin_my_loss",
        component="my_loss",
        attribute="MyLoss",
    )


def test_a_data_set_is_a_function_named_like_it():
    assert parse_names("msmt17", DATASET).attribute == "msmt17"


def test_digits_may_follow_a_letter():
    names = parse_names("net-x0-25", LOSS)
    assert (names.dist, names.component) == ("reid-plugin-net-x0-25", "net_x0_25")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MyLoss", "did you mean my-loss?"),
        ("ReIDLoss", "did you mean re-id-loss?"),
        ("my.loss", "did you mean my-loss?"),
        ("my--loss", "did you mean my-loss?"),
        ("-my-loss-", "did you mean my-loss?"),
        ("my loss", "did you mean my-loss?"),
        ("3d", "beginning with a letter, for example my-loss"),
        ("", "beginning with a letter, for example my-loss"),
        ("../x/é", "did you mean x?"),
        ("reid-plugin-", "beginning with a letter, for example my-loss"),
        ("reid-plugin", "is the beginning of every name; go on with your own word"),
        ("reid-plugin-3d", "'3d' begins with a digit"),
        ("class", "'class' is a keyword of Python; choose another name, for example class-loss"),
        ("reid-plugin-import", "'import' is a keyword of Python"),
        ("null", "YAML reads 'null' as a value and no name"),
        ("recipes", "every project has another file of the name 'recipes'"),
        ("conformance", "every project has another file of the name 'conformance'"),
        ("test-loss", "pytest would take 'test_loss' for a test; begin with another word"),
    ],
)
def test_what_cannot_name_a_package_is_refused_with_what_could(text, message):
    with pytest.raises(UsageError, match="NAME") as caught:
        parse_names(text, LOSS)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "kind", "attribute"),
    [
        ("tensor", "loss", "TensorLoss"),
        ("exception", "hook", "ExceptionHook"),
        ("image-transform", "transform", "ImageTransformTransform"),
        ("filter", "dataset", "filter_dataset"),
        ("root", "dataset", "root_dataset"),
    ],
)
def test_a_name_that_the_sources_or_python_have_already_gets_another_word(text, kind, attribute):
    assert parse_names(text, TEMPLATE_KINDS[kind]).attribute == attribute


@pytest.mark.parametrize("kind", TEMPLATE_KINDS)
def test_no_component_has_the_name_of_something_else_in_its_files(kind, render):
    template = TEMPLATE_KINDS[kind]
    project = render(kind, "zq")
    own = {"zq", "Zq"}
    # Constants are left out: each letter of E_P_S_I_L_O_N would have to be a word of the name.
    spelling = r"[a-z][a-z0-9]*(_[a-z0-9]+)*" if template.is_function else r"(?![A-Z]+\Z)([A-Z]\w*)"
    for path in (f"src/{project.names.module}/zq.py", "tests/test_zq.py"):
        for name in bound_names(project.files[path]) - own:
            if re.fullmatch(spelling, name) and not name.startswith("test_"):
                typed = re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()
                assert parse_names(typed, template).attribute != name


def bound_names(source: str) -> set[str]:
    """Return every name that a module gives a meaning to, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.alias():
                names.add((node.asname or node.name).partition(".")[0])
            case ast.FunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.arg():
                names.add(node.arg)
            case ast.Name(ctx=ast.Store()):
                names.add(node.id)
    return names
