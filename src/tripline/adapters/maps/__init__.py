"""Maps from OpenStreetMap files: imports, roads with their limits, tiles of the base map."""
