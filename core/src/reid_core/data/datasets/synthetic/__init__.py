"""The data set that needs no download: pedestrians drawn by the program itself.

``dataset`` is the entry; ``settings`` says what may be asked for, ``plan`` which pictures that
makes, ``store`` keeps them on disk. ``scene`` draws one picture from ``people``, ``shots`` and
``cameras``. Everything is whole-number arithmetic: the same seed gives the same pixels on every
machine, with every version of NumPy and Pillow.
"""

from reid_core.data.datasets.synthetic.dataset import synthetic

__all__ = ["synthetic"]
