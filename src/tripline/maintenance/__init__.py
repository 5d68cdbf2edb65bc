"""The work of commands in a data folder, with or without a running server.

Not here: the output of commands (`cli/`), the server (`app.py`).
"""
