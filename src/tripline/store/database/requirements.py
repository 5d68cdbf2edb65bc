"""The requirements of a PostgreSQL server and database, and the form of its address.

Each question is answered with the sentence to show, or None. No answer holds any part of an address: its password may
stand anywhere in one that is written wrongly.
"""

from typing import TYPE_CHECKING, Final

import msgspec
from sqlalchemy import Connection, text

from tripline.later import Later

if TYPE_CHECKING:
    import psycopg
    from psycopg import conninfo
else:
    psycopg = Later("psycopg")
    conninfo = Later("psycopg.conninfo")

OLDEST: Final = 15
"""The first version of PostgreSQL that is tested; older ones keep fewer promises about partitions."""
LETTERS: Final = "und-x-icu"
"""The collation that says which letters are small and capital forms of each other, in every script."""
_LOOK: Final = text(
    "SELECT current_setting('server_version_num')::int, pg_encoding_to_char(encoding), pg_is_in_recovery(),"
    f" EXISTS (SELECT FROM pg_collation WHERE collname = '{LETTERS}' AND collencoding IN (-1, encoding))"
    " FROM pg_database WHERE datname = current_database()"
)


class Server(msgspec.Struct, frozen=True):
    """Properties of a server and the database on it that we check."""

    version: int
    """As the server counts: 150014 is 15.14."""
    encoding: str
    standby: bool
    knows_letters: bool

    @property
    def version_text(self) -> str:
        """The version as people say it."""
        return f"{self.version // 10_000}.{self.version % 10_000}"


def look(connection: Connection) -> Server:
    """Read the server's properties."""
    version, encoding, standby, knows_letters = connection.execute(_LOOK).one()
    return Server(version, encoding, standby, knows_letters)


def unfit(server: Server) -> str | None:
    """Why our tables cannot live there."""
    if server.version < OLDEST * 10_000:
        return f"The server is PostgreSQL {server.version_text}; Tripline needs {OLDEST} or later."
    if server.standby:
        return "The server is a standby, which takes no writes; give the address of the primary."
    if server.encoding != "UTF8":
        return (
            f"The database is encoded in {server.encoding}; make one with"
            " CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0."
        )
    if not server.knows_letters:
        return f'The database has no collation "{LETTERS}"; use a PostgreSQL that was built with ICU.'
    return None


def wrong_address(url: str) -> str | None:
    """Describe a malformed store address; None if it is well formed."""
    try:
        parts = conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        return "The store address cannot be read; its form is postgresql://user:password@host:port/database."
    ports = str(parts.get("port") or "").split(",")
    if not all(port == "" or (port.isascii() and port.isdigit()) for port in ports):
        return "The store address has a port that is no number; write / of a password as %2F."
    if "@" in f"{parts.get('host', '')}{parts.get('dbname', '')}":
        return "The store address has more than one @; write that of a password as %40."
    return None
