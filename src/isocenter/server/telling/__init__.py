"""A challenge told to those who look at it: no more of it than they may know."""
