"""Claims of speed, each with the peer in the same process. Run by `make bench`; no test asserts a time."""
