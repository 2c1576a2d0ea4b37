"""Checkpoints and weights: atomic writing, strict reading, and a report of what was loaded."""
