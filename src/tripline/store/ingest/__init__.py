"""Rows that taking in devices' messages needs: tracks, claims, deliveries, rejected messages."""
