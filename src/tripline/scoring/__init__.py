"""From samples to findings to a score, on numpy arrays: no I/O, no clock, no settings file (`docs/scoring.md`)."""
