"""Tripline: a self-hosted connected-fleet platform. ARCHITECTURE.md describes its structure."""
