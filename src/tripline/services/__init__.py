"""Use cases: synchronous functions over a transaction, and the loops that run in the background."""
