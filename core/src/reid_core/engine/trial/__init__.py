"""What is tried out before a run: a batch of everything, learning rates, where the time goes."""
