"""What is written down of a run: its folder, and what it was made of."""
