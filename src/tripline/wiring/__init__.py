"""The parts of the program, connected to each other and to their adapters."""
