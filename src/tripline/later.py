"""Modules that load when something of them is needed.

A command's help needs its signature, not the program behind it; a server on SQLite needs no driver for PostgreSQL.
Decision 007 says where this is used and where not.
"""

import importlib
import sys
from typing import Any


class Later:
    """A module that loads at the first use of one of its names.

    Type checkers and the import contract see the module through `TYPE_CHECKING`.
    """

    def __init__(self, name: str, *, without: str | None = None) -> None:
        """`without`: a package that the module would load if it were installed, and that we do not have it use."""
        self._name = name
        self._without = without

    def __getattr__(self, attribute: str) -> Any:
        """Load the module if needed, and return its attribute."""
        if self._without is not None and self._name not in sys.modules:
            self._load_without(self._without)
        return getattr(importlib.import_module(self._name), attribute)

    def _load_without(self, package: str) -> None:
        loaded = sys.modules.get(package)
        sys.modules[package] = None  # type: ignore[assignment]  # to an import it is not there
        try:
            importlib.import_module(self._name)
        finally:
            del sys.modules[package]
            if loaded is not None:
                sys.modules[package] = loaded
