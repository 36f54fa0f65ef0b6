"""Pages, by what people do on them."""
