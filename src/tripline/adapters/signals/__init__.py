"""Signals between the parts of the program: inside one process, or through PostgreSQL."""
