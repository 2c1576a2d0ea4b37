"""Readers of public re-identification benchmarks for reid-core.

``msmt17``, ``veri776`` and ``vehicleid`` are the data sets that configs name; ``folders`` finds
them on the disk, ``lists`` reads the text files that come with them, and ``testing`` writes tiny
copies of them.
"""
