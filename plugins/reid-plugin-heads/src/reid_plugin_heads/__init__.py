"""Heads of reid-core: ``bnneck`` and ``linear``, and the pooling layers they share.

``layout`` reads maps and tokens the same way, ``pooling`` reduces them to one vector an image,
``bnneck`` and ``linear`` make a :class:`reid_core.contracts.HeadOutput` of it.
"""
