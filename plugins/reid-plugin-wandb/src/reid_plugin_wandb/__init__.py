"""Runs of reid-core in Weights & Biases: the hook ``wandb``, and its ``login``."""
