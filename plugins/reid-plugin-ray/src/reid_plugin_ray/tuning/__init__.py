"""What ``reid-ray tune`` does: a space of settings, trials, and the best of them."""
