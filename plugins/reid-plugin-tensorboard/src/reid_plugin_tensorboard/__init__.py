"""Runs of reid-core in TensorBoard: the hook ``tensorboard``."""
