"""Nouns, states, rules and permissions: standard library only, no I/O, no clock."""
