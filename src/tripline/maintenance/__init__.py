"""The work of commands in a data folder, with or without a running server."""
