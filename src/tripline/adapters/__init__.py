"""Machinery that can be replaced, named only where the program is wired."""
