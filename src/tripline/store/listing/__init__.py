"""Lists of what somebody may see: the engine, and a module a noun."""
