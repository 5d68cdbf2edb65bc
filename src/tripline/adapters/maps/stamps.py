"""Stamps of the folder of maps: they show that something changed there, without loading the code that reads maps."""

import os
from pathlib import Path
from typing import TypeAlias

Stamp: TypeAlias = tuple[tuple[str, int, int], ...]
"""Of each description its name, its file, and when it was written."""


def stamp(folder: Path) -> Stamp:
    """Changes whenever an area comes, goes or is replaced. Cheap."""
    try:
        with os.scandir(folder) as entries:
            found = ((entry.name, entry.stat()) for entry in entries if entry.name.endswith(".json"))
            return tuple(sorted((name, of.st_ino, of.st_mtime_ns) for name, of in found))
    except FileNotFoundError:
        return ()
