"""Classifiers: from an embedding to class scores, with or without a margin.

``base`` is the interface, then one classifier a file; ``build`` names them for configs.
"""

from reid_plugin_heads.classifiers.base import Classifier
from reid_plugin_heads.classifiers.build import ClassifierName, build_classifier

__all__ = ["Classifier", "ClassifierName", "build_classifier"]
