"""Fill a template of this package."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined


def fill(name: str, **values: object) -> str:
    """Return a page as HTML; every text in it is escaped.

    Args:
        name: File name in ``report/templates``.
        values: What the template reads.
    """
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_source),
    )
    return environment.get_template(name).render(**values)


def _source(name: str) -> str:
    return (files("reid_core.report") / "templates" / name).read_text(encoding="utf-8")
