from __future__ import annotations

from typing import Literal

import torch

from reid_core.plugins.parameters import ParameterProblem, bind


class Triplet:
    def __init__(
        self, *, margin: float = 0.3, mining: Literal["hard", "all"] = "hard", feature_dim: int = 0
    ) -> None:
        self.settings = (margin, mining, feature_dim)


def needs(path: str, size: int, extra: int = 0) -> tuple[str, int, int]:
    return path, size, extra


def takes_any(size: int, **rest: object) -> dict[str, object]:
    return {"size": size, **rest}


def messages(problems: tuple[ParameterProblem, ...]) -> dict[str, str]:
    return {problem.parameter: problem.message for problem in problems}


def test_what_fits_is_bound_and_converted() -> None:
    call = bind(Triplet, {"margin": 1, "mining": "all"}, {})
    assert call.problems == ()
    assert call.keywords == {"margin": 1.0, "mining": "all"}
    assert type(call.keywords["margin"]) is float


def test_a_quoted_number_reaches_a_float_parameter_as_a_float() -> None:
    assert bind(Triplet, {"margin": "1e-4"}, {}).keywords == {"margin": 0.0001}


def test_context_is_passed_only_where_the_signature_names_it() -> None:
    call = bind(Triplet, {}, {"feature_dim": 8, "num_classes": 3})
    assert call.keywords == {"feature_dim": 8}
    call = bind(takes_any, {"size": 1}, {"num_classes": 3})
    assert call.keywords == {"size": 1}


def test_context_in_the_config_is_refused_whether_the_component_takes_it_or_not() -> None:
    call = bind(Triplet, {"feature_dim": 8, "num_classes": 3}, {"feature_dim": 8, "num_classes": 3})
    assert messages(call.problems) == {
        "feature_dim": "is set by the trainer; remove it",
        "num_classes": "is set by the trainer; remove it",
    }


def test_an_unknown_parameter_is_answered_with_the_nearest_and_those_that_can_be_set() -> None:
    call = bind(Triplet, {"margn": 1}, {"feature_dim": 8})
    assert messages(call.problems) == {
        "margn": "unknown parameter; did you mean margin? (known: margin, mining)"
    }


def test_a_component_without_parameters_says_so() -> None:
    call = bind(lambda: None, {"p": 1}, {})
    assert messages(call.problems) == {"p": "unknown parameter (it takes none)"}


def test_a_missing_parameter_is_named_unless_the_context_has_it() -> None:
    call = bind(needs, {}, {"size": 3})
    assert messages(call.problems) == {"path": "required parameter 'path' is missing"}


def test_every_problem_is_found_at_once() -> None:
    call = bind(needs, {"size": "big", "extr": 1}, {})
    assert set(messages(call.problems)) == {"size", "extr", "path"}
    assert messages(call.problems)["size"].endswith("got 'big'")


def test_a_wrong_value_is_not_reported_as_missing_too() -> None:
    call = bind(needs, {"path": "p", "size": "big"}, {})
    assert [p.parameter for p in call.problems] == ["size"]


def test_a_factory_that_takes_anything_gets_everything_unchecked() -> None:
    call = bind(takes_any, {"size": 1, "colour": "red"}, {})
    assert call.problems == ()
    assert call.keywords == {"size": 1, "colour": "red"}


def test_a_parameter_that_has_no_name_to_the_caller_is_a_problem() -> None:
    def positional(path: str, /, size: int = 1) -> None: ...

    call = bind(positional, {"path": "p"}, {})
    assert "cannot be given by name" in messages(call.problems)["path"]
    assert bind(lambda *rest, **more: None, {}, {}).problems == ()


class Unsigned:
    __signature__ = "none that can be read"

    def __call__(self) -> None: ...


def test_a_factory_without_a_signature_is_a_problem_of_the_component() -> None:
    call = bind(Unsigned(), {"value": 1}, {})
    assert call.keywords == {}
    assert "has no signature to compare with" in messages(call.problems)[""]


def test_an_optimizer_of_torch_is_bound_like_any_component() -> None:
    parameter = torch.nn.Parameter(torch.zeros(1))
    call = bind(torch.optim.Adam, {"lr": "1e-4", "betas": [0.9, 0.99]}, {"params": [parameter]})
    assert call.problems == ()
    assert call.keywords == {"lr": 0.0001, "betas": (0.9, 0.99), "params": [parameter]}
    optimizer = torch.optim.Adam(**call.keywords)
    assert optimizer.param_groups[0]["lr"] == 0.0001

    call = bind(torch.optim.Adam, {"momentum": 0.9, "lr": "fast"}, {"params": None})
    assert set(messages(call.problems)) == {"momentum", "lr"}
