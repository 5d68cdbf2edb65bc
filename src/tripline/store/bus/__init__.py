"""Rows of the message bus: its offsets, and the facts that a batch of customers' messages needs."""
