"""The parts of the program, wired to each other and to their adapters."""
