"""Rows of pushes: the outbox, its receivers, claims, secrets, and parked messages."""
