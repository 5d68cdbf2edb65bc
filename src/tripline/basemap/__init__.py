"""The base map: selection of OpenStreetMap features by zoom, and their style."""
