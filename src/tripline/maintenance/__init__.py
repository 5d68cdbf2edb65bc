"""The work of commands in a data folder, beside a running server as well as without one.

Not here: what commands print (`cli/`), the server (`app.py`).
"""
