"""Bulk imports: files become drafts, and their rows are registered."""
