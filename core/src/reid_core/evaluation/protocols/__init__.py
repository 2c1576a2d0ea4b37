"""Protocols: by which rule queries and gallery are compared. One benchmark's rule a file.

``base`` says what a protocol is; the others hold the rules that come with the core.
"""

from reid_core.evaluation.protocols.base import (
    DISTRACTORS,
    Draws,
    Prepared,
    Protocol,
    Scoring,
    Trial,
)
from reid_core.evaluation.protocols.cameras import (
    AnyCamera,
    OtherCameras,
    market1501,
    no_camera,
)

__all__ = [
    "DISTRACTORS",
    "AnyCamera",
    "Draws",
    "OtherCameras",
    "Prepared",
    "Protocol",
    "Scoring",
    "Trial",
    "market1501",
    "no_camera",
]
