"""What the evaluations come down to: before and after, and the final table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reid_core.report.numbers import (
    ABSENT,
    change_text,
    count_text,
    metric_name,
    metric_order,
    metric_text,
    when_text,
)
from reid_core.report.records import Evaluation, Results

HEADLINE_METRICS = ("mAP", "rank1")


@dataclass(frozen=True)
class Change:
    """One metric before and after training, as text; ``before`` is empty where unknown."""

    name: str
    before: str
    after: str
    difference: str


@dataclass(frozen=True)
class Headline:
    """The outcome on one data set under one protocol and distance.

    Args:
        after: The evaluation at the end.
        before: The first evaluation of the same kind; None where there is only one.
        changes: mAP and rank-1.
    """

    after: Evaluation
    before: Evaluation | None
    changes: tuple[Change, ...]

    @property
    def when_before(self) -> str:
        """When the first evaluation was made."""
        if self.before is None:
            return ""
        moment = when_text(self.before.step, self.before.epoch)
        return "before training (step 0)" if self.before.step == 0 else moment

    @property
    def when_after(self) -> str:
        """When the final evaluation was made, and of which weights."""
        if _is_of_embeddings(self.after):
            return self.after.weights
        return f"{when_text(self.after.step, self.after.epoch)}, {self.after.weights} weights"


@dataclass(frozen=True)
class FinalRow:
    """A line of the final table, as text; ``beside`` is what was not done the plain way."""

    evaluation: Evaluation
    label: str
    beside: tuple[str, ...]
    metrics: tuple[tuple[str, str], ...]
    used: str
    skipped: str
    gallery: str


def headlines(results: Results) -> tuple[Headline, ...]:
    """Compare the first with the final evaluation, like with like.

    The final one is of the last weights where there is one: the best weights were chosen on the
    very data that they are measured on.

    Returns:
        One headline for each data set, protocol, distance and way of making embeddings, in order
        of first appearance; figures after re-ranking have none.
    """
    return tuple(_headline(group) for group in _groups(_plain(results)))


def final_rows(results: Results) -> tuple[FinalRow, ...]:
    """Return the last evaluation of each data set, protocol, distance and kind of weights.

    The best evaluation of the run gets a line too, where it is none of these.
    """
    finals: list[Evaluation] = []
    for group in _groups(results.evaluations):
        finals += {one.weights: one for one in group}.values()
    metrics = sorted({name for one in finals for name in one.metrics}, key=metric_order)
    rows = [_row(one, _final_label(one), metrics) for one in finals]
    best = best_evaluation(results)
    if best is not None and results.best is not None and best not in finals:
        name = metric_name(results.best.metric)
        rows.append(_row(best, f"best by {name}, {when_text(best.step, best.epoch)}", metrics))
    return tuple(rows)


def best_evaluation(results: Results) -> Evaluation | None:
    """Find the evaluation that ``best`` speaks of, to name its protocol and distance."""
    best = results.best
    if best is None:
        return None
    for one in _plain(results):
        if (one.dataset, one.step, one.metrics.get(best.metric)) == (
            best.dataset,
            best.step,
            best.value,
        ):
            return one
    return None


def best_sentence(results: Results) -> str:
    """Say in a sentence which evaluation was best; empty where none is recorded."""
    best = results.best
    if best is None:
        return ""
    evaluation = best_evaluation(results)
    how = "protocol not recorded" if evaluation is None else protocol_text(evaluation)
    return (
        f"Best {metric_name(best.metric)} of the run: {metric_text(best.metric, best.value)} on "
        f"{best.dataset} at step {best.step} ({how}). Choosing the step by this number flatters "
        f"it: compare runs at their last step, or choose on data that the number is not made of."
    )


def protocol_text(evaluation: Evaluation) -> str:
    """Write how a number was measured: ``protocol market1501, cosine distance``."""
    return f"protocol {evaluation.protocol}, {evaluation.distance} distance"


def protocols_of(results: Results | None, dataset: str) -> tuple[str, ...]:
    """Return the different ways that a data set was measured in."""
    evaluations = () if results is None else _plain(results)
    return tuple(dict.fromkeys(protocol_text(one) for one in evaluations if one.dataset == dataset))


def _plain(results: Results) -> tuple[Evaluation, ...]:
    return tuple(one for one in results.evaluations if not one.postprocessing)


def _groups(evaluations: Iterable[Evaluation]) -> list[list[Evaluation]]:
    groups: dict[tuple[str, str, str, str, tuple[str, ...]], list[Evaluation]] = {}
    for one in evaluations:
        key = (one.dataset, one.protocol, one.distance, one.features, one.postprocessing)
        groups.setdefault(key, []).append(one)
    return list(groups.values())


def _headline(group: list[Evaluation]) -> Headline:
    after = next((one for one in reversed(group) if one.weights == "last"), group[-1])
    before = group[0] if group[0].step < after.step else None
    return Headline(after, before, tuple(_change(name, before, after) for name in HEADLINE_METRICS))


def _change(metric: str, before: Evaluation | None, after: Evaluation) -> Change:
    new = after.metrics.get(metric)
    if before is None:
        return Change(metric_name(metric), "", metric_text(metric, new), "")
    old = before.metrics.get(metric)
    texts = (metric_text(metric, old), metric_text(metric, new))
    return Change(metric_name(metric), *texts, change_text(old, new))


def _is_of_embeddings(one: Evaluation) -> bool:
    """Say whether figures are of a file of embeddings, which no step of training made."""
    return one.weights.startswith("embeddings ")


def _final_label(one: Evaluation) -> str:
    if _is_of_embeddings(one):
        return one.weights
    return f"final, {one.weights} weights, {when_text(one.step, one.epoch)}"


def _row(one: Evaluation, label: str, metrics: Iterable[str]) -> FinalRow:
    skipped = ABSENT
    if one.num_queries is not None and one.num_valid_queries is not None:
        skipped = count_text(one.num_queries - one.num_valid_queries)
    draws = [f"mean of {one.num_trials} draws"] if one.num_trials > 1 else []
    return FinalRow(
        evaluation=one,
        beside=(*filter(None, [one.features]), *(f"after {x}" for x in one.postprocessing), *draws),
        label=label,
        metrics=tuple((metric_name(m), metric_text(m, one.metrics.get(m))) for m in metrics),
        used=count_text(one.num_valid_queries),
        skipped=skipped,
        gallery=count_text(one.num_gallery),
    )
