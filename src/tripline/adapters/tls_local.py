"""TLS material made on first start: a local certificate authority and a server certificate signed by it.

Keys are ECDSA P-256, the cheapest handshake every device library knows. `ca.crt` is what a device or client is given to
trust; it stays the same while the server certificate is renewed. A certificate that the operator supplies is only read.
The names follow RFC 6125: subject alternative names, never the common name.
"""

import contextlib
import datetime
import ipaddress
import os
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tripline.adapters import doors

RENEW_WITHIN: Final = datetime.timedelta(days=30)
SERVER_LIFE: Final = datetime.timedelta(days=397)
"""The longest life that browsers accept of a server certificate (CA/Browser Forum, 398 days)."""
CA_LIFE: Final = datetime.timedelta(days=3650)
_BACKDATED: Final = datetime.timedelta(days=1)
"""A device's clock may be behind ours."""


class TlsError(Exception):
    """A certificate or key cannot be used; the text is the one line to show."""


@dataclass(frozen=True, slots=True)
class Material:
    """Files of the server: `ca` is what clients trust (the supplied chain itself when it was not made here)."""

    certificate: Path
    key: Path
    ca: Path


def supplied(certificate: Path, key: Path) -> Material:
    """The operator's own certificate and key."""
    return Material(certificate, key, certificate)


def made(folder: Path, *, host: str, now_ms: int) -> Material:
    """The material in `folder`, made or renewed where it is missing, near its end, or does not name the host."""
    now = datetime.datetime.fromtimestamp(now_ms / 1000, datetime.UTC)
    material = Material(folder / "server.crt", folder / "server.key", folder / "ca.crt")
    authority_key = folder / "ca.key"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (material.ca.exists() and authority_key.exists()) or _ends(material.ca) - now < RENEW_WITHIN:
            _make_authority(material.ca, authority_key, now)
            material.certificate.unlink(missing_ok=True)
        if not _serves(material, host, now):
            _make_server(material, authority_key, host, now)
    except (OSError, ValueError, TypeError) as error:
        raise TlsError(f"The certificates in {folder} cannot be made or read: {error}") from error
    return material


def context(material: Material) -> ssl.SSLContext:
    """A server context for TLS 1.2 and later. Raises `TlsError` when certificate and key do not belong together."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.minimum_version = ssl.TLSVersion.TLSv1_2
    # Renegotiation and compression are off by default in this OpenSSL; tickets make a device's reconnect cheaper.
    try:
        server.load_cert_chain(material.certificate, material.key)
    except FileNotFoundError as error:
        raise TlsError(f"There is no certificate {material.certificate} or key {material.key}.") from error
    except OSError as error:
        reason = getattr(error, "reason", None) or error.strerror or "unreadable"
        raise TlsError(f"The certificate {material.certificate} cannot be used with its key: {reason}.") from error
    return server


def client_context(ca: str) -> ssl.SSLContext:
    """A client context that trusts the system's authorities and the one in this PEM file. Raises `TlsError`."""
    client = ssl.create_default_context()
    if ca:
        try:
            client.load_verify_locations(ca)
        except (OSError, ssl.SSLError) as error:
            raise TlsError(f"The authority {ca} cannot be read: {error}") from error
    return client


def ends_ms(certificate: Path) -> int:
    """When the certificate ends, epoch ms. Raises `TlsError`."""
    try:
        return int(_ends(certificate).timestamp() * 1000)
    except (OSError, ValueError) as error:
        raise TlsError(f"The certificate {certificate} cannot be read: {error}") from error


def _ends(certificate: Path) -> datetime.datetime:
    return x509.load_pem_x509_certificate(certificate.read_bytes()).not_valid_after_utc


def _serves(material: Material, host: str, now: datetime.datetime) -> bool:
    if not (material.certificate.exists() and material.key.exists()):
        return False
    certificate = x509.load_pem_x509_certificate(material.certificate.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return certificate.not_valid_after_utc - now >= RENEW_WITHIN and set(_names(host)) <= set(names)


def _names(host: str) -> list[x509.GeneralName]:
    """This machine as clients may call it: its loopback names, the listening host, the machine's own name."""
    wanted = dict.fromkeys(["localhost", "127.0.0.1", "::1", host, socket.gethostname()])
    names: list[x509.GeneralName] = []
    for name in wanted:
        if name in doors.EVERY_ADDRESS:
            continue
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            with contextlib.suppress(ValueError):  # a machine name outside ASCII cannot stand in a certificate
                names.append(x509.DNSName(name))
    return names


def _make_authority(certificate: Path, key_file: Path, now: datetime.datetime) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Tripline local CA {now:%Y-%m-%d %H:%M:%S}")])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + CA_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    _write_key(key_file, key)
    _replace(certificate, signed.public_bytes(serialization.Encoding.PEM), 0o644)


def _make_server(material: Material, authority_key: Path, host: str, now: datetime.datetime) -> None:
    authority = x509.load_pem_x509_certificate(material.ca.read_bytes())
    signer = serialization.load_pem_private_key(authority_key.read_bytes(), password=None)
    if not isinstance(signer, ec.EllipticCurvePrivateKey):
        raise TypeError(f"{authority_key} is not an ECDSA key")
    key = ec.generate_private_key(ec.SECP256R1())
    signed = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Tripline server")]))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(min(now + SERVER_LIFE, authority.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(_names(host)), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, hashes.SHA256())
    )
    _write_key(material.key, key)
    _replace(material.certificate, signed.public_bytes(serialization.Encoding.PEM), 0o644)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    body = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _replace(path, body, 0o600)


def _replace(path: Path, body: bytes, mode: int) -> None:
    """Write beside, then rename: a crash leaves the old file or the new one, never half of one."""
    beside = path.with_name(path.name + ".new")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
