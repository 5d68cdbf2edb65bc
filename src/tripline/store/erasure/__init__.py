"""Rows that deleted vehicles, sensors and people left behind, and the list of them."""
