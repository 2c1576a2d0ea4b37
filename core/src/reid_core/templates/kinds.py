"""The component kinds that there is a template for."""

from __future__ import annotations

from dataclasses import dataclass

from reid_core.errors import UsageError, did_you_mean
from reid_core.plugins.component_ref import KINDS, singular


@dataclass(frozen=True)
class TemplateKind:
    """What the template of a kind needs to know beside the names.

    Args:
        kind: One of :data:`reid_core.plugins.KINDS`.
        summary: What the example is, as the end of "``name``: …".
        keywords: Words that people would look for.
        dependencies: What the sources import beside ``reid-core``.
        example: First-party distributions that the example recipe takes its other parts from.
        is_function: Whether the component is a function, named like it, and no class.
    """

    kind: str
    summary: str
    keywords: tuple[str, ...]
    dependencies: tuple[str, ...] = ("torch>=2.6",)
    example: tuple[str, ...] = ("reid-plugin-osnet",)
    is_function: bool = False

    @property
    def word(self) -> str:
        """The word for one component: ``loss`` of ``losses``."""
        return singular(self.kind)

    @property
    def base(self) -> str:
        """The word with a capital, as class names have it."""
        return self.word.capitalize()


TEMPLATE_KINDS: dict[str, TemplateKind] = {
    template.word: template
    for template in (
        TemplateKind(
            "backbones",
            "a small residual network",
            ("backbone", "residual network"),
            example=("reid-plugin-heads", "reid-plugin-losses"),
        ),
        TemplateKind(
            "heads",
            "generalised-mean pooling and a linear classifier",
            ("head", "pooling", "GeM"),
        ),
        TemplateKind(
            "losses",
            "a contrastive loss of cosines with a margin",
            ("loss", "metric learning", "contrastive loss"),
        ),
        TemplateKind(
            "hooks",
            "a hook that warns when the loss jumps",
            ("hook", "training log"),
            dependencies=(),
        ),
        TemplateKind(
            "datasets",
            "a reader of folders of images whose names tell identity and camera",
            ("data set", "reader"),
            dependencies=("numpy>=1.26",),
            is_function=True,
        ),
        TemplateKind(
            "samplers",
            "batches of P identities with K images each, every identity equally often",
            ("sampler", "balanced batches"),
            dependencies=("numpy>=1.26",),
        ),
        TemplateKind(
            "transforms",
            "an augmentation that takes the colour out of some images",
            ("augmentation", "random grayscale"),
            dependencies=("numpy>=1.26", "torch>=2.6"),
        ),
    )
}


def template_kind(text: str) -> TemplateKind:
    """Return the template of a kind.

    Args:
        text: The kind in singular or plural: ``loss`` or ``losses``.

    Raises:
        UsageError: There is no such kind, or no template for it.
    """
    words = list(TEMPLATE_KINDS)
    for template in TEMPLATE_KINDS.values():
        if text in (template.word, template.kind):
            return template
    for kind in KINDS:
        if text in (kind, singular(kind)):
            raise UsageError(
                f"--kind {text}: there is no template for {kind}, only for {', '.join(words)}; "
                f"the documentation has a page on {kind} with an example: write one by hand, or "
                "make a project of another kind and add an entry point to its pyproject.toml"
            )
    raise UsageError(
        f"--kind {text}: no such kind{did_you_mean(text, words)} (templates: {', '.join(words)})"
    )
