"""REST: one file a published family."""
