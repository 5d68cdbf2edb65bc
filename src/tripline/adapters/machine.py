"""The disk space and open files of this process. Each call may take a while: not for the event loop."""

import resource
import shutil
from pathlib import Path
from typing import Final

_OPEN: Final = Path("/dev/fd/")


def free_bytes(folder: Path) -> int:
    """Free space on the folder's disk for this user."""
    return shutil.disk_usage(folder).free


def open_files() -> int:
    """Files and connections that this process has open."""
    # Linux 6.2 and later say how many there are; reading the names of 20,000 would hold up everybody.
    return _OPEN.resolve().stat().st_size or len(list(_OPEN.iterdir()))


def open_files_limit() -> int:
    """How many it may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft
