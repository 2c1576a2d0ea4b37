"""Tiny copies of the benchmarks, in their real layout, for tests of what reads them.

``person``, ``cuhk03``, ``occluded``, ``video``, ``modalities``, ``vehicles`` and ``animals`` write
them, one function a data set; ``images`` writes a small image.
"""

from reid_plugin_datasets.testing.images import write_image
from reid_plugin_datasets.testing.person import write_msmt17
from reid_plugin_datasets.testing.vehicles import write_vehicleid, write_veri776

__all__ = ["write_image", "write_msmt17", "write_vehicleid", "write_veri776"]
