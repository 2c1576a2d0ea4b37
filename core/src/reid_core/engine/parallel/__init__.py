"""One model in several processes."""
