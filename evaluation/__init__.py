"""Proof of the scores: made drives with known manoeuvres, real drives thinned and made dirty, and a simple peer.

`make evaluate` writes the report. Nothing here is part of the program.
"""
