from __future__ import annotations

from collections.abc import Callable

import pytest

from reid_core.templates import TEMPLATE_KINDS, Project, parse_names, render_project

Render = Callable[..., Project]


@pytest.fixture
def render() -> Render:
    """A function that renders a project of a kind."""

    def call(kind: str, name: str = "my-part", *, author: str = "") -> Project:
        template = TEMPLATE_KINDS[kind]
        return render_project(parse_names(name, template), template, author=author)

    return call
