"""Models of several branches on one trunk: ``mgn``, ``transreid`` and ``lmbn``.

``splitting`` takes a backbone apart, ``composed`` is what the models have in common,
``branch_head`` is the neck and classifier of one branch. ``token_groups``, ``erasing``,
``bottleneck`` and ``reduction`` are the parts of single models.
"""
