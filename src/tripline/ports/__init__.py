"""Every seam between Tripline and its replaceable parts: a file a subject.

An adapter is a file in `adapters/` (or `store/` for the store), named only in `wiring/adapters.py` and `app.py`, and
passes the contract suite of its port in `tests/contract/`.
"""
