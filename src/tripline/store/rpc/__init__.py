"""Rows of calls to devices: calls, activations, records, messages on their way."""
