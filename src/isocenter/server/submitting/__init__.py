"""How submissions come in, and how those who made them see what became of them."""
