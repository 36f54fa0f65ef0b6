"""One module per challenge; the test of the house is that adding one touches nothing else."""
