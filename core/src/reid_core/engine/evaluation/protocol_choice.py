"""The protocol of a test set: the one asked for, or its form for sets that know no cameras."""

from __future__ import annotations

import logging

from reid_core.errors import DataError
from reid_core.evaluation import Protocol, no_camera

log = logging.getLogger("reid_core")


def protocol_for(protocol: Protocol, *, has_cameras: bool, what: str) -> Protocol:
    """Return the protocol that a test set can be evaluated by.

    Args:
        protocol: The one asked for.
        has_cameras: Whether the set knows its cameras.
        what: What the set is called, for messages.

    Returns:
        The same; or, where it needs cameras that are not known, its form without them, which is
        logged and has a name or description of its own.

    Raises:
        DataError: It needs cameras, and has no such form.
    """
    if has_cameras or not protocol.needs_cameras:
        return protocol
    without = protocol.without_cameras()
    if without is None:
        if not compares_images(protocol):
            raise DataError(
                f"{what}: its cameras are not known, and protocol {protocol.name} needs them "
                f"({protocol.description}); say in the data which camera took each image (column "
                "camid), or choose another evaluate.protocol"
            )
        without = no_camera()
    log.warning(
        "%s: its cameras are not known, so it is evaluated by protocol %s (camera filter off), not "
        "by %s; its figures cannot be compared with those of protocols that leave out the query's "
        "own camera",
        what,
        without.name,
        protocol.name if without.name != protocol.name else f"{protocol.name} with cameras",
    )
    return without


def compares_images(protocol: Protocol) -> bool:
    """Say whether a protocol only leaves gallery images out, so that no_camera can stand for it."""
    kind = type(protocol)
    is_plain = all(
        getattr(kind, name) is getattr(Protocol, name) for name in ("prepare", "trials", "grouped")
    )
    return is_plain and protocol.scoring == "images" and not protocol.keeps_unmatched
