"""JSON of REST: a file a noun."""
