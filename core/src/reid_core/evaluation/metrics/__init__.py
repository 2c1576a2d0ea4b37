"""Figures: from the places of matches, from pairs, by camera and identity, with intervals.

``rank_metrics`` has AP, INP and CMC, ``further_metrics`` and ``query_figures`` what else ranks
give; ``single_shot`` and ``identity_ranks`` count otherwise; ``verification`` and
``open_set_rates`` are about pairs and thresholds; ``intervals`` and ``comparison`` say how far a
figure can be trusted.
"""
