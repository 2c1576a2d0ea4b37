"""Who has which name, where several distributions declare it or a switch is on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from reid_core.plugins.component_ref import ComponentRef
from reid_core.plugins.metadata import CORE
from reid_core.plugins.switches import Switch


def with_claims(
    refs: Iterable[ComponentRef], switches: Sequence[Switch] = ()
) -> tuple[ComponentRef, ...]:
    """Mark what is disabled, and the claims on one name that contradict each other.

    A name of the core is the core's, whoever else declares it.

    Args:
        refs: Every component, its status being that of its own metadata.
        switches: Those that are on.
    """
    marked = [_without_disabled(ref, switches) for ref in refs]
    claims: dict[tuple[str, str], list[ComponentRef]] = {}
    for ref in marked:
        if ref.claims_name:
            claims.setdefault((ref.kind, ref.name), []).append(ref)
    return tuple(
        _contested(ref, claims[ref.kind, ref.name]) if ref.claims_name else ref for ref in marked
    )


def _without_disabled(ref: ComponentRef, switches: Sequence[Switch]) -> ComponentRef:
    switch = next((one for one in switches if one.covers(ref.dist)), None)
    if switch is None or ref.status == "shadowed":
        return ref
    return replace(ref, status="disabled", detail=f"by {switch.source}")


def _contested(ref: ComponentRef, claims: Sequence[ComponentRef]) -> ComponentRef:
    """Mark one of several claims on a name as such."""
    owners = {claim.dist for claim in claims}
    if len(claims) == 1 or (ref.dist == CORE and _count(claims, CORE) == 1):
        return ref
    if _count(claims, ref.dist) > 1:
        detail = f"declared {_count(claims, ref.dist)} times by {ref.dist}"
    elif CORE in owners:
        detail = f"the name is {CORE}'s; use {ref.qualified}"
    else:
        others = ", ".join(sorted(owners - {ref.dist}))
        detail = f"also in {others}; use {ref.qualified}"
    if ref.needs:
        # Its qualified spelling is refused too: that is the reason to tell first.
        detail = f"{ref.detail}; {detail.partition(';')[0]}"
    return replace(ref, status="conflict", detail=detail)


def _count(claims: Iterable[ComponentRef], dist: str) -> int:
    return sum(claim.dist == dist for claim in claims)
