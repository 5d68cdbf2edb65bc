"""PostgreSQL's errors that mean the store cannot be used.

Codes: appendix A of its manual. Not here: errors of SQLite, and why no error may be mistaken (`faults.py`).
"""

from typing import Final

import psycopg
from psycopg import errors

from tripline.ports.outages import Fault, StoreOutage
from tripline.store.database.faults import outage

_DISK_FULL: Final = "53100"
_DISK_ERROR: Final = "58030"
_FILE_MISSING: Final = "58P01"
_INTERNAL: Final = "XX"
"""Class of XX000, XX001 and XX002: the server found that something inside it is not as it must be."""
_LIMIT: Final = "54"
"""Class of statements and rows that are too large: the statement is wrong, not the server."""
_AWAY: Final = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    errors.IdleInTransactionSessionTimeout,
)


def of_postgres(error: BaseException) -> StoreOutage | None:
    """The outage that the driver's error means; None: it is a bug."""
    if not isinstance(error, psycopg.Error):
        return None
    state = error.sqlstate or ""
    if state.startswith(_INTERNAL) or state == _FILE_MISSING:
        return outage(Fault.DAMAGED, error)
    if state == _DISK_FULL:
        return outage(Fault.FULL, error)
    if state == _DISK_ERROR:
        return outage(Fault.DISK, error)
    if isinstance(error, errors.ReadOnlySqlTransaction):  # a server that stands by for another
        return outage(Fault.READ_ONLY, error)
    if isinstance(error, _AWAY) and not state.startswith(_LIMIT):
        return outage(Fault.AWAY, error)
    return None
