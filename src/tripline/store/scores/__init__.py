"""Rows of scores: jobs, results, pages."""
