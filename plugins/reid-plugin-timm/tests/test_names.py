from __future__ import annotations

import pytest
import timm

from reid_core.errors import ConfigError
from reid_plugin_timm.names import check_name


def test_an_unknown_name_is_answered_with_near_ones():
    with pytest.raises(ConfigError, match=r"no model 'resnet500'; did you mean .*resnet50"):
        check_name("resnet500", pretrained=False)


def test_a_name_near_nothing_is_answered_without_a_guess():
    with pytest.raises(ConfigError) as caught:
        check_name("zzzzzzzz", pretrained=False)
    assert "did you mean" not in str(caught.value)


def test_an_unknown_weights_tag_is_answered_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"'a1_in2k' for resnet18; known: .*resnet18\.a1_in1k"):
        check_name("resnet18.a1_in2k", pretrained=False)


def test_asking_for_weights_that_were_never_published_is_refused():
    without = set(timm.list_models()) - set(timm.list_models(pretrained=True, include_tags=False))
    name = sorted(n for n in without if not timm.is_model_pretrained(n))[0]
    check_name(name, pretrained=False)
    with pytest.raises(ConfigError, match=f"no published weights for '{name}'.*weights: <path>"):
        check_name(name, pretrained=True)


@pytest.mark.parametrize("name", ["resnet50", "resnet50.a1_in1k", "vit_base_patch16_224_in21k"])
def test_known_tagged_and_replaced_names_pass(name: str):
    check_name(name, pretrained=True)


def test_a_name_with_a_source_is_left_to_timm():
    check_name("local-dir:/anywhere", pretrained=True)
