"""Rows of trips and microtrips: written by batches, read by pages."""
