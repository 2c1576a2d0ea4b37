"""What ``reid-ray embed`` does: a data set cut into parts, and a file of embeddings for each."""
