"""Optional hooks of reid-core.

Averages of the weights (``ema``, ``swa``), batch statistics (``precise_bn``, with
``batch_statistics``), a part that waits (``freeze``, with ``rehearsal``), an end in time
(``early_stopping``), and what only looks (``gradient_norm``, ``profiler``, ``csv_log``).
"""
