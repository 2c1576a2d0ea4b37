"""The lines of a configuration that turn a component on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic_core import PydanticUndefined

from reid_core.config.components import OptimizerConfig
from reid_core.config.schema import DEFAULT_HOOKS
from reid_core.inspection.parameter_table import ParameterRow, value_text

#: Where a component of each kind stands; the last part is a list where it ends in ``-``.
_PLACES: dict[str, tuple[str, ...]] = {
    "backbones": ("model", "backbone"),
    "heads": ("model", "head"),
    "losses": ("model", "losses-"),
    "models": ("model",),
    "datasets": ("data", "train-"),
    "samplers": ("data", "batch"),
    "transforms": ("data", "transforms-"),
    "optimizers": ("train", "optimizer"),
    "schedules": ("train", "schedule"),
    "protocols": ("evaluate", "protocol"),
    "rerankers": ("evaluate", "rerank-"),
    "hooks": ("hooks-",),
}
#: Settings beside a component that belong to the schema and not to it.
_BESIDE = {"losses": ("# weight: 1.0",)}


def snippet_of(
    kind: str, spelling: str, rows: Sequence[ParameterRow], *, recipes: Sequence[str] = ()
) -> str:
    """Write the YAML that turns a component on.

    Parameters without a default are placeholders in angle brackets; those with one are comments.

    Args:
        kind: Its kind.
        spelling: Its name, or its qualified name where the name alone does not do.
        rows: Its parameters.
        recipes: For recipes: their names.

    Returns:
        YAML lines; empty where a configuration cannot name the kind.
    """
    if kind == "recipes":
        return f"extends: {recipes[0]}\n" if recipes else ""
    if kind not in _PLACES:
        return ""
    if kind == "hooks" and spelling in DEFAULT_HOOKS:
        return _default_hook(spelling, rows)
    *sections, last = _PLACES[kind]
    lines = [f"{'  ' * depth}{section}:" for depth, section in enumerate(sections)]
    depth = len(sections)
    lines.append(f"{'  ' * depth}{last.removesuffix('-')}:")
    lines += _indented(_body(kind, spelling, rows), depth + 1, is_item=last.endswith("-"))
    return "\n".join(lines) + "\n"


def _default_hook(name: str, rows: Sequence[ParameterRow]) -> str:
    # The list replaces the default one, so that it has to name the others too.
    lines = ["default_hooks:"]
    for hook in DEFAULT_HOOKS:
        body = _body("hooks", hook, rows) if hook == name else [f"name: {hook}"]
        lines += _indented(body, 1, is_item=True)
    return "\n".join(lines) + "\n"


def _body(kind: str, spelling: str, rows: Sequence[ParameterRow]) -> list[str]:
    key = "sampler" if kind == "samplers" else "name"
    return [f"{key}: {spelling}", *_BESIDE.get(kind, ()), *_parameters(kind, rows)]


def _parameters(kind: str, rows: Sequence[ParameterRow]) -> Iterator[str]:
    for row in rows:
        if row.is_from_trainer or row.name.startswith("*"):
            continue
        schema_default = _schema_default(kind, row.name)
        if schema_default:
            yield f"# {row.name}: {schema_default}"
        elif row.is_required:
            yield f"{row.name}: {value_text(f'<{row.type or row.name}>')}  # required"
        else:
            yield f"# {row.name}: {row.default}"


def _schema_default(kind: str, name: str) -> str:
    """Return the default that the schema puts in place of the component's own."""
    field = OptimizerConfig.model_fields.get(name) if kind == "optimizers" else None
    if field is None or field.default is PydanticUndefined:
        return ""
    return value_text(field.default)


def _indented(body: Sequence[str], depth: int, *, is_item: bool) -> Iterator[str]:
    for position, line in enumerate(body):
        mark = ("- " if position == 0 else "  ") if is_item else ""
        yield f"{'  ' * depth}{mark}{line}"
