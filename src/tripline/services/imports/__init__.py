"""Bulk imports: files become drafts, and the rows of a file are registered."""
