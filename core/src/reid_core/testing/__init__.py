"""Helpers for the tests of plugin authors: data small enough to train on in a second."""

from reid_core.testing.market import write_tiny_market

__all__ = ["write_tiny_market"]
