"""Tables with one line an image: what CSV and Parquet files have in common.

``table`` is what both are read into; ``header`` finds the columns, ``paths``, ``splits`` and
``boxes`` understand theirs, and ``rows`` puts the manifest together. ``csv_cells`` and ``csv_file``
read text in blocks, so that a million lines need little more memory than their columns.
"""
