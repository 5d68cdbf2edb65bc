"""Scoring jobs: rows to arrays, arrays to findings, findings to rows. `scorer.py` runs them."""
