"""Lists as people look through them, and finding things by any of their numbers."""
