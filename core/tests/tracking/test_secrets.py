from __future__ import annotations

import pytest

from reid_core.tracking.secrets import holds_secrets, is_secret_name, without_secrets


@pytest.mark.parametrize(
    "name",
    ["WANDB_API_KEY", "HF_TOKEN", "aws-secret", "password", "apikey", "a.credentials", "KEY"],
)
def test_names_of_secrets_are_known(name):
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["keys", "num_tokens", "monkey", "seed", "OMP_NUM_THREADS"])
def test_other_names_are_none(name):
    assert not is_secret_name(name)


def test_secrets_are_left_out_at_any_depth_and_logins_are_struck_out():
    plain = {
        "seed": 1,
        "hooks": [{"name": "x", "api_key": "a"}, {"uri": "mysql://me:pw@host/runs"}],
        "env": {"TOKEN": "b", "LANG": "C"},
        "url": "https://host/a@b",
    }
    assert without_secrets(plain) == {
        "seed": 1,
        "hooks": [{"name": "x"}, {"uri": "mysql://***@host/runs"}],
        "env": {"LANG": "C"},
        "url": "https://host/a@b",
    }
    assert plain["hooks"][0]["api_key"] == "a", "the original is left alone"


def test_a_configuration_is_known_to_hold_a_secret_or_none():
    assert holds_secrets({"hooks": [{"token": "a"}]})
    assert holds_secrets({"uri": "https://me@host"})
    assert not holds_secrets({"hooks": ({"name": "a"},), "seed": 1, "uri": "sqlite:///a.db"})
