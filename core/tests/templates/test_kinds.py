from __future__ import annotations

import pytest

from reid_core.errors import UsageError
from reid_core.plugins.index import KINDS
from reid_core.templates import TEMPLATE_KINDS, template_kind

SEVEN = "backbone, head, loss, hook, dataset, sampler, transform"


def test_there_are_seven_templates_each_for_a_kind_of_component():
    assert ", ".join(TEMPLATE_KINDS) == SEVEN
    assert {template.kind for template in TEMPLATE_KINDS.values()} < set(KINDS)


@pytest.mark.parametrize("text", ["loss", "losses"])
def test_a_kind_is_named_in_singular_or_plural(text):
    assert template_kind(text) is TEMPLATE_KINDS["loss"]


@pytest.mark.parametrize("text", ["schedule", "schedules"])
def test_a_kind_without_a_template_is_answered_with_where_an_example_is(text):
    with pytest.raises(UsageError) as caught:
        template_kind(text)
    assert str(caught.value).startswith(
        f"--kind {text}: there is no template for schedules, only for {SEVEN}; the documentation "
        "has a page on schedules with an example"
    )


def test_an_unknown_kind_is_answered_with_the_nearest_and_all():
    with pytest.raises(UsageError) as caught:
        template_kind("los")
    assert str(caught.value) == (
        f"--kind los: no such kind; did you mean loss? (templates: {SEVEN})"
    )
