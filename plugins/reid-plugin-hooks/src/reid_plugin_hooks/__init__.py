"""Optional hooks of reid-core: ``ema``, ``early_stopping``, ``tensorboard``."""
