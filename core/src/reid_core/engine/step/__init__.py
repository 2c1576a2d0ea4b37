"""What a step is computed with: precision, memory layout, chunks, compilation."""
