"""Modules that load when something of them is needed.

A command's help needs its signature, not the program behind it; a server on SQLite needs no driver for PostgreSQL.
Decision 007 says where this is used and where not.
"""

import importlib
from typing import Any


class Later:
    """A module that loads at the first use of one of its names.

    Type checkers and the import contract see the module through `TYPE_CHECKING`.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Load the module, unless it is loaded, and give what it calls by this name."""
        return getattr(importlib.import_module(self._name), attribute)
