"""Pages of platform administrators: accounts, applications, maps, health and settings."""
