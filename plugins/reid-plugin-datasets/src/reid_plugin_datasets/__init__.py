"""Readers of public re-identification benchmarks for reid-core: a file each, named like the set.

``folders`` finds a set on the disk and lists its images, ``lists``, ``names``, ``table`` and
``matlab`` read the files that come with it, ``listed`` looks for the images that a list names,
``layouts`` reads what several sets share, ``draws`` draws random splits by number, ``parameters``
checks what configs say, and ``rows`` makes the manifest. ``testing`` writes tiny copies of the
sets.
"""
