"""Pages of lists, one module a noun, with their exports and the quick search."""
