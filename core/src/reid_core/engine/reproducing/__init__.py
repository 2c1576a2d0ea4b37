"""A run done again, and whether it came out the same."""
