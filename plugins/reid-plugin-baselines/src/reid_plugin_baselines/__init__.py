"""Recipes of published baselines, named ``baselines/<data set>/<method>``."""
