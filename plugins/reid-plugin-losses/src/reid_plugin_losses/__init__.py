"""Losses of reid-core, one a module.

Over classes: ``cross_entropy``, ``focal``. Over pairs of the batch: ``triplet``, ``circle``,
``cosface``, ``contrastive``, ``supervised_contrastive``, ``info_nce``, ``multi_similarity``; with
the memory of earlier batches ``contrastive_memory``. With vectors of their own for each identity:
``center``, ``proxy_anchor``. Over attributes: ``attribute_bce``.

``pair_loss`` is what those over pairs have in common. ``precision`` keeps all of them in float32,
``reading`` finds their input in the head's output, ``distance`` measures pairs, ``pairs``,
``mining`` and ``triplet_distances`` choose them, ``reductions`` averages and ``pair_statistics``
describes them.
"""
