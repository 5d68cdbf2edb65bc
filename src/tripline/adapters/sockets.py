"""Listening sockets, bound before anything heavy starts, so that a port in use is reported at once.

Early connections wait in the backlog until the part behind the listener takes the socket over.
"""

import errno
import resource
import socket
from typing import Final

import msgspec

BESIDES: Final = 2_048
"""Files and connections that outside clients cannot use up: the database, pushes, mails, the bus, rejected clients."""
LEAST_HTTP: Final = 16
"""Connections of an HTTP listener, however few files there are."""

EVERY_ADDRESS: Final = ("0.0.0.0", "::", "")  # noqa: S104  compared with, never the default
"""Hosts that mean all of this machine's addresses, and none that one could connect to or certify."""


class Shares(msgspec.Struct, frozen=True):
    """Connections that devices may have together, and each of the HTTP listeners."""

    devices: int
    http_listener: int
    http_listeners: int

    @property
    def files(self) -> int:
        """Open files that this takes, with those beside them."""
        return self.devices + self.http_listener * self.http_listeners + BESIDES


class ListenerError(Exception):
    """An address cannot be listened on; the text is the one line to show."""


def allow(wanted: Shares) -> Shares:
    """Raise this process's file limit to the shares, or to the system's maximum; return the resulting shares.

    Each connection is an open file. The usual soft limit of 1,024 would be too low for a fleet. Every listener stays
    within its share, so connections to an HTTP listener never take a file from a device.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = wanted.files if hard == resource.RLIM_INFINITY else min(wanted.files, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return split(wanted, files)


def split(wanted: Shares, files: int) -> Shares:
    """Reduce the shares to so many files.

    A quarter of the files, at most `BESIDES`, is reserved for other uses. A shortage first reduces the HTTP listeners,
    down to a quarter of the rest; then devices.
    """
    if wanted.files <= files:
        return wanted
    left = files - min(BESIDES, files // 4)
    for_http = max(left - wanted.devices, left // 4 if wanted.devices else left)
    http_listener = max(LEAST_HTTP, min(wanted.http_listener, for_http // wanted.http_listeners))
    devices = min(wanted.devices, max(1, left - http_listener * wanted.http_listeners)) if wanted.devices else 0
    return Shares(devices, http_listener, wanted.http_listeners)


def bind(host: str, port: int, *, purpose: str) -> socket.socket:
    """A TCP socket bound to the address; port 0 picks one. Raises `ListenerError`."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise ListenerError(f"The host {host!r} is no address of this machine: {error}.") from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        # Two sockets with SO_REUSEADDR may both bind; only listening shows on Linux that the port is another's.
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise ListenerError(_sentence(host, port, purpose, error)) from error
    listener.setblocking(False)
    return listener


def port_of(listener: socket.socket) -> int:
    """The port the socket is bound to."""
    port: int = listener.getsockname()[1]
    return port


def address_text(host: str, port: int) -> str:
    """`HOST:PORT` as in a URL: IPv6 addresses in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _sentence(host: str, port: int, purpose: str, error: OSError) -> str:
    where = address_text(host, port)
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is in use; the {purpose} listener cannot open there."
    if error.errno == errno.EACCES:
        return f"Port {port} may not be used by this user; the {purpose} listener cannot open on {where}."
    return f"The {purpose} listener cannot open on {where}: {error.strerror}."
