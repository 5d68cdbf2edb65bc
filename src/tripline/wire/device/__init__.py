"""A device's publish, from bytes to readings."""
