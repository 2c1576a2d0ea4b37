"""Data on its way: manifest, sampler, decode and augment, batch."""
