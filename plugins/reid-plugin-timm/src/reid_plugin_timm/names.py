"""Model names: refused early, with the names that were probably meant."""

from __future__ import annotations

import difflib

import timm

from reid_core.errors import ConfigError


def has_source(name: str) -> bool:
    """Tell whether ``name`` is a repository or folder (``hf-hub:…``, ``local-dir:…``)."""
    return ":" in name


def check_name(name: str, *, pretrained: bool) -> None:
    """Refuse a name that timm does not know.

    Args:
        name: ``architecture`` or ``architecture.tag``; with a source prefix it is not checked.
        pretrained: Whether the name must also have published weights.

    Raises:
        ConfigError: No such architecture or tag, or no weights for it; near matches are named.
    """
    if has_source(name):
        return
    architecture, _, tag = name.partition(".")
    listed = timm.list_models()
    if not timm.is_model(architecture):
        near = difflib.get_close_matches(architecture, listed, n=3, cutoff=0.6)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise ConfigError(
            f"model_name: timm {timm.__version__} has no model {name!r}{hint} "
            "(timm.list_models('resnet*') lists names)"
        )
    tagged = timm.list_models(architecture, include_tags=True)
    if tag and tagged and name not in tagged:
        raise ConfigError(
            f"model_name: timm {timm.__version__} has no weights tag {tag!r} for {architecture}; "
            f"known: {', '.join(tagged)}"
        )
    # Names that timm has replaced are not listed; their weights are those of the replacement.
    if pretrained and architecture in listed and not timm.is_model_pretrained(name):
        raise ConfigError(
            f"pretrained: timm {timm.__version__} has no published weights for {name!r}; use "
            "`pretrained: false`, or name a local file with `weights: <path>`"
        )
