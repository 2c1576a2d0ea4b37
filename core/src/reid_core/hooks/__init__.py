"""The default hooks, which the default config lists and any config can reorder or leave out."""
