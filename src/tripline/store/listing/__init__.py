"""Lists within a scope: the engine, and a module for each noun."""
