"""Several processes, on one machine or many, that torchrun or another launcher started."""
