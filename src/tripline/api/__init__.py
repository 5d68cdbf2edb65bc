"""REST: one file a published family, and what surrounds a request."""
