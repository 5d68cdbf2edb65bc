"""Certificates of the listeners, and TLS contexts made of them.

Without the operator's certificate and key, the program is its own authority (`authority.py`). Devices and clients
trust `ca.crt`; it stays the same while server certificates are renewed.
"""

import datetime
import ssl
from pathlib import Path

import msgspec

from tripline.adapters.tls import authority


class TlsError(Exception):
    """A certificate or key cannot be used; the text is the one line to show."""


class Material(msgspec.Struct, frozen=True):
    """Files of the server: `ca` is trusted by clients (for a supplied certificate, its own chain)."""

    certificate: Path
    key: Path
    ca: Path
    rsa: tuple[Path, Path] | None = None
    """Certificate and key for clients that know RSA only, when the others are not RSA."""

    @property
    def pairs(self) -> tuple[tuple[Path, Path], ...]:
        first = (self.certificate, self.key)
        return (first,) if self.rsa is None else (first, self.rsa)


def supplied(certificate: Path, key: Path) -> Material:
    """The operator's own certificate and key."""
    return Material(certificate, key, certificate)


def made(folder: Path, *, host: str, now_ms: int) -> Material:
    """The material in `folder`, made or renewed where it is missing, near its end, or does not name the host. Raises
    `TlsError`."""
    try:
        authority.keep(folder, host=host, now=datetime.datetime.fromtimestamp(now_ms / 1000, datetime.UTC))
    except (OSError, ValueError, TypeError) as error:
        raise TlsError(f"The certificates in {folder} cannot be made or read: {error}") from error
    certificate, key = authority.ECDSA.server(folder)
    return Material(certificate, key, folder / authority.BUNDLE, authority.RSA.server(folder))


def context(material: Material) -> ssl.SSLContext:
    """A server context for TLS 1.2 and later. Raises `TlsError` when certificate and key do not belong together."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.minimum_version = ssl.TLSVersion.TLSv1_2
    # Renegotiation and compression are off by default in this OpenSSL; tickets make a device's reconnect cheaper.
    # The library prefers ECDSA where a client knows both.
    for certificate, key in material.pairs:
        try:
            server.load_cert_chain(certificate, key, password="")  # no question on a terminal
        except FileNotFoundError as error:
            raise TlsError(f"There is no certificate {certificate} or key {key}.") from error
        except OSError as error:
            reason = getattr(error, "reason", None) or error.strerror or "unreadable"
            raise TlsError(f"The certificate {certificate} cannot be used with its key: {reason}.") from error
    return server


def client_context(ca: str) -> ssl.SSLContext:
    """A client context that trusts the system's authorities and the one in this PEM file. Raises `TlsError`."""
    client = ssl.create_default_context()
    try:
        client.load_verify_locations(ca)
    except (OSError, ssl.SSLError) as error:
        raise TlsError(f"The authority {ca} cannot be read: {error}") from error
    return client


def ends_ms(certificate: Path) -> int:
    """When the first certificate in the file ends, epoch ms. Raises `TlsError`."""
    try:
        end = authority.certificates(certificate)[0].not_valid_after_utc
    except (OSError, ValueError) as error:
        raise TlsError(f"The certificate {certificate} cannot be read: {error}") from error
    return int(end.timestamp() * 1000)
