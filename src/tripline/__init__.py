"""Tripline: a self-hosted connected-fleet platform. ARCHITECTURE.md is the map."""
