"""Heads of reid-core: ``bnneck``, ``linear``, ``embedding``, ``attribute`` and ``pcb``.

They share their parts: ``layout`` reads maps and tokens the same way, ``pooling`` reduces them to
one vector an image, ``necks`` give its two sides, ``classifiers`` score the classes. ``models``
composes whole models of several branches.
"""
