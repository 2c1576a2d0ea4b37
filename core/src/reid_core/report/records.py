"""What the files of a run folder say, as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, StringConstraints

#: Identities and cameras are integers in some data sets and text in others.
Label = Annotated[str, BeforeValidator(str)]

#: x, y, width and height in pixels.
Box: TypeAlias = tuple[float, float, float, float]

#: A picture inside of the page, and nothing else that a browser would load.
Thumbnail = Annotated[str, StringConstraints(pattern=r"^data:image/jpeg;base64,[A-Za-z0-9+/=]*$")]

#: Why a query is shown; ``chosen`` is one that was asked for by name.
Selection = Literal["best", "worst", "random", "chosen"]


@dataclass(frozen=True)
class Evaluation:
    """One evaluation of one data set; an entry of ``results.json``.

    Args:
        dataset: Name of the data set.
        step: Optimiser steps done when it was measured.
        protocol: Name of the evaluation protocol.
        distance: Name of the distance that ordered the gallery.
        metrics: Values by name; retrieval metrics are fractions in 0..1.
        protocol_description: The protocol in one line.
        epoch: Epochs done, possibly a fraction.
        num_queries: Queries of the data set.
        num_valid_queries: Queries that have a right answer in the gallery; the others are skipped.
        num_gallery: Images of the gallery.
        weights: Which weights were measured, ``"last"`` or ``"best"``.
        caveats: Why the values say less than they seem to.
        features: How embeddings were made where it is not the plain way: flip, scales, crops.
        postprocessing: What was done after, such as re-ranking, in order; empty for plain values.
        num_trials: Draws that the values are means over.
    """

    dataset: str
    step: int
    protocol: str
    distance: str
    metrics: Mapping[str, float | None]
    protocol_description: str = ""
    epoch: float | None = None
    num_queries: int | None = None
    num_valid_queries: int | None = None
    num_gallery: int | None = None
    weights: str = "last"
    caveats: tuple[str, ...] = ()
    features: str = ""
    postprocessing: tuple[str, ...] = ()
    num_trials: int = 1


@dataclass(frozen=True)
class Best:
    """The best value that any evaluation of the run reached."""

    dataset: str
    metric: str
    value: float
    step: int


@dataclass(frozen=True)
class Results:
    """``results.json``: every evaluation, in time order."""

    schema: Literal[1]
    evaluations: tuple[Evaluation, ...] = ()
    best: Best | None = None
    outcome: str | None = None


@dataclass(frozen=True)
class Query:
    """The image that a gallery was ranked for.

    Args:
        path: Where the image is.
        pid: Its identity.
        camid: Its camera.
        box: The part of the upright image, x, y, width and height in pixels; None is all of it.
        thumbnail: A small picture as ``data:image/jpeg;base64,…``, of an image that is in no file
            of its own; None has it read from ``path``.
    """

    path: str
    pid: Label
    camid: Label
    box: Box | None = None
    thumbnail: Thumbnail | None = None


@dataclass(frozen=True)
class RankedResult:
    """A gallery image at its place in a ranking.

    Args:
        path: Where the image is.
        pid: Its identity.
        camid: Its camera.
        distance: To the query.
        match: Whether it has the identity of the query.
        box: As in :class:`Query`.
        thumbnail: As in :class:`Query`.
    """

    path: str
    pid: Label
    camid: Label
    distance: float | None
    match: bool
    box: Box | None = None
    thumbnail: Thumbnail | None = None


@dataclass(frozen=True)
class Ranking:
    """A query and the gallery images nearest to it, nearest first.

    Args:
        dataset: Name of the data set.
        selection: Why this query is shown.
        query: The query image.
        results: The nearest gallery images.
        ap: Average precision of the query over the whole gallery, a fraction.
        protocol: Name of the protocol; empty where it was not recorded.
        distance: Name of the distance; empty where it was not recorded.
        postprocessing: What made this order after the plain distances; empty for the plain order.
    """

    dataset: str
    selection: Selection
    query: Query
    results: tuple[RankedResult, ...]
    ap: float | None = None
    protocol: str = ""
    distance: str = ""
    postprocessing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rankings:
    """``ranks.json``: some queries with their nearest gallery images."""

    schema: Literal[1]
    rankings: tuple[Ranking, ...] = ()


@dataclass(frozen=True)
class BrokenImage:
    """An image that the run went on without.

    Args:
        use: ``train`` or ``test``.
        dataset: Name of its data set.
        path: Where it is.
        reason: What is wrong with it.
    """

    use: str
    dataset: str
    path: str
    reason: str = ""


@dataclass(frozen=True)
class BrokenImages:
    """``broken_images.json``; there is no such file where all images could be read."""

    schema: Literal[1]
    images: tuple[BrokenImage, ...] = ()


@dataclass(frozen=True)
class Component:
    """A component the run used, and the distribution it came from."""

    kind: str
    name: str
    dist: str | None = None
    version: str | None = None
    value: str | None = None


@dataclass(frozen=True)
class Series:
    """One curve; values that are not finite stay in it, and are drawn as gaps.

    Args:
        name: Name for the legend.
        steps: (N,) optimiser steps done, increasing.
        values: (N,) the value at each step.
    """

    name: str
    steps: tuple[int, ...]
    values: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.steps)
