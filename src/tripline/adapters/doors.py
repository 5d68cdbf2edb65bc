"""Listening sockets, bound before anything heavy starts, so that a port in use is found at once.

What connects early waits in the backlog until the part behind the door takes the socket over.
"""

import errno
import resource
import socket
from typing import Final

BESIDES: Final = 4_096
"""Files and connections besides admitted devices: the database, REST, and those that have not finished TLS."""

EVERY_ADDRESS: Final = ("0.0.0.0", "::", "")  # noqa: S104  compared with, never the default
"""Hosts that mean all of this machine's addresses, and none that one could connect to or certify."""


class DoorError(Exception):
    """An address cannot be listened on; the text is the one line to show."""


def allow(connections: int) -> None:
    """Let this process have so many connections, as far as the system permits, and not without bound more.

    Each is an open file. The usual soft limit of 1024 would end a fleet early; without any limit, connections to
    REST, which nothing counts, could fill the memory.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + BESIDES
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def bind(host: str, port: int, *, purpose: str) -> socket.socket:
    """A TCP socket bound to the address; port 0 picks one. Raises `DoorError`."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise DoorError(f"The host {host!r} is no address of this machine: {error}.") from error
    door = socket.socket(family, kind, protocol)
    try:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind(address)
        _prove_free(door)
    except OSError as error:
        door.close()
        raise DoorError(_sentence(host, port, purpose, error)) from error
    door.setblocking(False)
    return door


def port_of(door: socket.socket) -> int:
    """The port the socket is bound to."""
    port: int = door.getsockname()[1]
    return port


def address_text(host: str, port: int) -> str:
    """`HOST:PORT` as in a URL: IPv6 addresses in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _prove_free(door: socket.socket) -> None:
    # Two sockets with SO_REUSEADDR may both bind; only listening shows on Linux that the port is another's.
    door.listen(1024)


def _sentence(host: str, port: int, purpose: str, error: OSError) -> str:
    where = address_text(host, port)
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is in use; the {purpose} door cannot open there."
    if error.errno == errno.EACCES:
        return f"Port {port} may not be used by this user; the {purpose} door cannot open on {where}."
    return f"The {purpose} door cannot open on {where}: {error.strerror}."
