"""Nouns, states, rules and permissions: standard library and msgspec records only, no I/O, no clock."""
