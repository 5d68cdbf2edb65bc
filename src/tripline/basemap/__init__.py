"""The base map: what of the world it shows, and at which zooms."""
