"""Live pages: the map of all vehicles, and its stream."""
