"""Embeddings in files of any tool: ``.npz`` and ``.parquet``."""
