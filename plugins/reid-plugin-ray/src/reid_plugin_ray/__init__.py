"""Sweeps and bulk extraction on Ray, for reid-core.

``command`` is ``reid-ray``; ``tuning`` has what ``reid-ray tune`` does, ``embedding`` what
``reid-ray embed`` does; ``report_hook`` is the hook by which a trial tells its sweep how it goes;
``cluster`` is the way to a Ray, one of this machine or of many.
"""
