"""Readers: each makes a manifest of one kind of source."""
