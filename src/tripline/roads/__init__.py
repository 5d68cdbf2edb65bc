"""Roads: their limits by their tags, and matching of drives to them. Pure, on values and arrays."""
