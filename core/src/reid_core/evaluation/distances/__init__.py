"""Distances in blocks, and the nearest rows by them, exactly or by FAISS."""
