"""What a protocol is: which gallery entries do not count for a query, and the name of that rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.embeddings import Embeddings, Labels

#: Entries of this pid are junk: neither right nor wrong.
JUNK_PID = -1
#: A column of bool that says which rows are distractors: of nobody that is searched for. The data
#: set tells; where the column is missing, no row is one.
DISTRACTORS = "distractors"

#: What a rank counts: ``images``, every entry that counts; ``identities``, each identity once, at
#: its nearest entry, for CMC alone (SYSU-MM01); ``single_shot``, one random entry of each identity,
#: for all figures (CUHK03).
Scoring = Literal["images", "identities", "single_shot"]


@dataclass(frozen=True)
class Draws:
    """Seeded draws in place of the exact expectation.

    Args:
        number: Draws, at least 1.
        seed: Seed of them all.
    """

    number: int
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Trial:
    """One way of cutting a test set into queries and gallery.

    Rows count the test set: 0 to Q - 1 are its queries, Q to Q + G - 1 its gallery entries.

    Args:
        query: (q,) int64 rows that are searched for.
        gallery: (g,) int64 rows that are searched in.
    """

    query: NDArray[np.int64]
    gallery: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Queries and gallery as they are compared: images, or what a protocol made of them.

    Args:
        query: What is searched for.
        gallery: What is searched in.
        query_rows: Row of the given queries that each stands for, the first of a group.
        gallery_rows: The same of the gallery.
    """

    query: Embeddings
    gallery: Embeddings
    query_rows: NDArray[np.int64]
    gallery_rows: NDArray[np.int64]


@dataclass(frozen=True)
class Protocol(ABC):
    """The rule of a benchmark.

    A further protocol is a subclass with a method :meth:`excluded`, and an entry point of kind
    ``protocols`` that names a function which returns an instance. The other methods have answers
    that suit a protocol which compares all queries with all of the gallery, image by image.

    They are asked in this order: :meth:`prepare` (images become tracklets, several queries one),
    :meth:`trials` (which of them are queries and gallery), :meth:`ignored` (junk, before
    re-ranking), :meth:`grouped` (images of a track become one entry, at the smallest distance),
    :meth:`excluded`. All labels have a column ``rows``, the row of each in the test set.

    Args:
        name: What a config calls it; stored with every number.
        description: The rule in one line; printed beside every number.

    Attributes:
        needs_cameras: Whether the rule reads ``camids``, see :meth:`without_cameras`.
        pools: Whether query and gallery of a set are one pool that :meth:`trials` cuts anew. Such
            a protocol also takes sets that have only one of the two.
        keeps_unmatched: Whether queries without a match are part of the measurement (open set)
            instead of being skipped.
        scoring: What a rank counts, see :data:`Scoring`.
        reads_camera_numbers: Whether the rule reads certain numbers of ``camids``, such as the
            cameras 1 and 2, and not only which are equal. Sets whose cameras are numbered anew,
            to be evaluated as one, are then refused.
        excludes_own_pid_only: A promise that makes evaluation several times faster: besides what
            is :meth:`ignored` the rule leaves out only entries of the query's own pid, each for
            what is known of the two rows. :meth:`excluded` may then be asked about part of the
            gallery.
    """

    name: str
    description: str

    needs_cameras: ClassVar[bool] = False
    reads_camera_numbers: ClassVar[bool] = False
    pools: ClassVar[bool] = False
    keeps_unmatched: ClassVar[bool] = False
    scoring: ClassVar[Scoring] = "images"
    excludes_own_pid_only: ClassVar[bool] = False

    @abstractmethod
    def excluded(self, query: Labels, gallery: Labels) -> NDArray[np.bool_]:
        """Say which gallery entries do not count for a block of queries.

        An excluded entry is neither a match nor a mistake: it is as if it were not there. Of the
        others, those with the query's pid are its matches.

        Args:
            query: Labels of B queries.
            gallery: Labels of all G gallery entries.

        Returns:
            (B, G) bool, True where the gallery entry is left out. The array is handed over: it is
            changed afterwards.
        """

    def ignored(self, gallery: Labels) -> NDArray[np.bool_]:
        """Say which gallery entries count for no query at all: junk.

        They are taken away before distances are changed by re-ranking, which would otherwise
        lean on them.

        Args:
            gallery: Labels of all G gallery entries.

        Returns:
            (G,) bool; ``excluded`` is True in these columns.
        """
        return np.asarray(gallery.pids == JUNK_PID)

    def prepare(self, query: Embeddings, gallery: Embeddings) -> Prepared:
        """Make of images what the protocol compares: tracklets, or several queries as one.

        Args:
            query: Q queries, an image each.
            gallery: G gallery entries, an image each.

        Returns:
            What is compared; images as they are, unless a protocol says otherwise.
        """
        return Prepared(query, gallery, np.arange(len(query)), np.arange(len(gallery)))

    def trials(self, query: Labels, gallery: Labels) -> Sequence[Trial] | None:
        """Cut the test set, once or several times; figures are means over the trials.

        The same labels give the same trials, whatever the rank or process.

        Args:
            query: Labels of the Q queries, as :meth:`prepare` left them.
            gallery: Labels of the G gallery entries.

        Returns:
            The trials; None is one trial of all queries and all of the gallery.
        """
        return None

    def grouped(self, gallery: Labels) -> NDArray[np.int64] | None:
        """Say which gallery images are one entry: those of a track, for image-to-track search.

        The distance to an entry is the smallest one to its images. :meth:`excluded` and
        :meth:`count_matches` see one row an entry, the labels of its first image, in the order of
        the codes; so all images of an entry must have one pid and one camid. Re-ranking comes
        before, on images.

        Args:
            gallery: Labels of G gallery images.

        Returns:
            (G,) int64 codes, equal for the images of one entry; None is an entry an image.
        """
        return None

    def draws(self) -> Draws | None:
        """Say how often single-shot galleries are drawn.

        Returns:
            The draws; None is the exact expectation over all of them. It is read where ``scoring``
            is ``single_shot`` only.
        """
        return None

    def without_cameras(self) -> Protocol | None:
        """Give the rule for a test set that does not know its cameras.

        It is asked where ``needs_cameras`` is True. A protocol that compares images one by one is
        then evaluated by ``no_camera``, under that name, unless it says another one here.

        Returns:
            The other rule, under a name or a description of its own; None is ``no_camera`` or, for
            a protocol that prepares, draws or groups, a refusal of the set.
        """
        return None

    def count_matches(self, query: Labels, gallery: Labels) -> NDArray[np.int64] | None:
        """Count the valid matches of each query without looking at every pair.

        Before training it is checked that queries have matches. A rule for which that is quickly
        told says it here; otherwise :meth:`excluded` is asked, for all pairs.

        Args:
            query: Labels of all Q queries.
            gallery: Labels of all G gallery entries.

        Returns:
            (Q,) int64, what counting by :meth:`excluded` would give; None leaves it to that.
        """
        return None
