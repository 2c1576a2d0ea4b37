"""Losses of reid-core: ``cross_entropy`` and ``triplet``.

``precision`` keeps them in float32, ``distance`` measures pairs, ``mining`` picks the pairs.
"""
