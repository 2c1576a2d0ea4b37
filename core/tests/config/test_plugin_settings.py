from __future__ import annotations

import logging

import pytest

from reid_core.config import Config
from reid_core.config.load import config_from_plain
from reid_core.config.plugin_settings import check_plugin_settings
from reid_core.errors import ConfigError, PluginError, UsageError
from reid_core.plugins.component_ref import ComponentRef
from reid_core.plugins.index import PluginIndex, disabled_plugins


def config_of(*, require: list[str] | None = None, disable: list[str] | None = None) -> Config:
    plain = Config().plain() | {"plugins": {"require": require or [], "disable": disable or []}}
    return config_from_plain(plain, source="f.yaml")


@pytest.fixture(autouse=True)
def distributions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Distributions that provide something."""
    versions = {"reid-core": "0.1.0", "reid-plugin-osnet": "0.2", "fake-a": "1.0"}
    versions["reid-plugin-loss"] = "1.0"  # not the one of this project that ends in losses
    refs = tuple(ComponentRef("heads", dist, "m:x", dist, v, "ok") for dist, v in versions.items())
    where = "reid_core.config.plugin_settings"
    monkeypatch.setattr(f"{where}.installed", lambda: PluginIndex(refs))
    monkeypatch.setattr(f"{where}.installed_version", versions.get)


def message_of(config: Config, error: type[Exception]) -> str:
    with pytest.raises(error) as raised:
        check_plugin_settings(config)
    return str(raised.value)


def test_without_settings_nothing_is_wrong() -> None:
    check_plugin_settings(Config())


def test_what_is_installed_meets_a_requirement_however_it_is_spelled() -> None:
    check_plugin_settings(config_of(require=["Reid_Plugin.OSNet>=0.2", "reid-core", "fake-a<2"]))


def test_every_requirement_that_is_not_met_is_told_with_the_command() -> None:
    text = message_of(config_of(require=["fake-a>=2", "fake-b", "reid-core"]), PluginError)
    assert text.splitlines() == [
        "plugins.require: fake-a>=2 is not met (installed: 1.0); pip install 'fake-a>=2'",
        "plugins.require: fake-b is not met (installed: nothing); pip install 'fake-b'",
    ]


def test_an_entry_that_is_no_requirement_is_a_mistake_of_the_config() -> None:
    assert "'>>1' is no requirement such as" in message_of(config_of(require=[">>1"]), ConfigError)


@pytest.mark.parametrize("name", ["fake-a", "Fake_A", "*", "reid-plugin-osnet"])
def test_what_provides_something_can_be_disabled(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    check_plugin_settings(config_of(disable=[name]))
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("reid-plugin-osnt", "reid-plugin-osnt provides nothing here; did you mean "
         "reid-plugin-osnet?"),
        ("osnet", "osnet provides nothing here; did you mean reid-plugin-osnet?"),
        ("Reid_Core", "reid-core cannot be disabled: nothing works without it"),
        ("fake-a>=1", "'fake-a>=1' is neither a distribution such as 'reid-plugin-timm' nor '*'"),
        ("", "'' is neither a distribution such as 'reid-plugin-timm' nor '*'"),
    ],
)  # fmt: skip
def test_a_name_that_cannot_be_meant_is_a_mistake_with_its_place(name: str, message: str) -> None:
    text = message_of(config_of(disable=["fake-a", name]), ConfigError)
    assert text == f"f.yaml  plugins.disable.1: {message}"


@pytest.mark.parametrize("name", ["reid-plugin-losses", "reid-plugin-resnet", "elsewhere"])
def test_a_distribution_that_is_not_here_and_like_none_is_only_a_warning(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="reid_core"):
        check_plugin_settings(config_of(disable=[name]))
    assert caplog.messages == [
        f"plugins.disable: {name} provides nothing here, so there is nothing to disable"
    ]


def test_one_distribution_cannot_be_required_and_disabled() -> None:
    config = config_of(require=["fake-a>=1"], disable=["Fake.A"])
    assert message_of(config, ConfigError) == (
        "f.yaml  plugins.disable.0: Fake.A is in plugins.require too; remove it from one of them"
    )


def test_a_requirement_that_a_switch_leaves_out_names_the_switch() -> None:
    config = config_of(require=["fake-a"], disable=["*"])
    assert message_of(config, PluginError) == (
        "plugins.require: fake-a cannot be met: fake-a is disabled by plugins.disable; take '*' "
        "out of plugins.disable to use it"
    )
    with disabled_plugins(["*"], source="--no-plugins"):
        assert "is disabled by --no-plugins; leave --no-plugins out" in message_of(
            config, PluginError
        )
    check_plugin_settings(config_of(require=["reid-core"], disable=["*"]))


def test_a_wrong_name_in_the_environment_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REID_DISABLE_PLUGINS", "fake-a, osnt")
    assert message_of(Config(), UsageError) == (
        "REID_DISABLE_PLUGINS: osnt provides nothing here; did you mean reid-plugin-osnet?"
    )
    for name in ("bad name!", "fake-a>=1"):
        monkeypatch.setenv("REID_DISABLE_PLUGINS", f"fake-a,{name}")
        assert message_of(Config(), UsageError) == (
            f"REID_DISABLE_PLUGINS: {name!r} is neither a distribution such as 'reid-plugin-timm' "
            "nor '*'"
        )
    monkeypatch.setenv("REID_DISABLE_PLUGINS", "*")
    check_plugin_settings(Config())
    monkeypatch.setenv("REID_DISABLE_PLUGINS", "reid-core")
    assert "reid-core cannot be disabled" in message_of(Config(), UsageError)


def test_a_required_distribution_that_the_environment_disables_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REID_NO_PLUGINS", "1")
    text = message_of(config_of(require=["fake-a"]), PluginError)
    assert text.endswith("disabled by REID_NO_PLUGINS; unset REID_NO_PLUGINS to use it")
