"""Roads: their limits by their tags, and which of them was driven. Pure, on values and arrays."""
