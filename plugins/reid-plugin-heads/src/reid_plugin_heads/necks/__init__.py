"""Necks: from the pooled feature to the two sides that a head compares and classifies.

``layers`` holds the layers, ``neck`` puts them in a row, ``build`` names them for configs.
"""

from reid_plugin_heads.necks.build import NeckName, build_neck
from reid_plugin_heads.necks.neck import Neck

__all__ = ["Neck", "NeckName", "build_neck"]
