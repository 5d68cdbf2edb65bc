"""The local certificate authorities and the server certificates that they issue, as files of one folder.

There are two of each, one with ECDSA keys and one with RSA keys: a TLS stack with RSA only must be able to check every
signature of its chain. `ca.crt` holds the certificates of all authorities, the issuing ECDSA one first, and
`ca-rsa.crt` those of the RSA ones. An authority's private key finds its certificate there by the public key.

A successor is made long before an authority ends, so that devices can be given it in time. The names in a server
certificate follow RFC 6125: subject alternative names, never the common name.
"""

import contextlib
import datetime
import ipaddress
import itertools
import os
import socket
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tripline.adapters import sockets

RENEW_WITHIN: Final = datetime.timedelta(days=30)
"""A month is time enough to act when a renewal fails: `tripline doctor` complains from the middle of it."""
SERVER_LIFE: Final = datetime.timedelta(days=397)
"""The longest life that browsers accept of a server certificate (CA/Browser Forum, 398 days)."""
CA_LIFE: Final = datetime.timedelta(days=3650)
SUCCESSOR_WITHIN: Final = datetime.timedelta(days=730)
"""Two years to give devices a `ca.crt` that holds the successor too."""
RSA_BITS: Final = 2048
"""The longest key that the old stacks accept; RSA is only here for them."""
BUNDLE: Final = "ca.crt"
_BACKDATED: Final = datetime.timedelta(days=1)
"""A device's clock may be behind ours."""

Key: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class Kind(msgspec.Struct, frozen=True):
    """Names and keys of one of the two chains."""

    ending: str
    name: str
    type: type[Key]
    make: Callable[[], Key]

    def server(self, folder: Path) -> tuple[Path, Path]:
        """Files of the server certificate and its key."""
        return folder / f"server{self.ending}.crt", folder / f"server{self.ending}.key"

    def authority_keys(self, folder: Path) -> Iterator[Path]:
        """Files of the authority's key, of its successor's, and so on."""
        yield folder / f"ca{self.ending}.key"
        for number in itertools.count(2):
            yield folder / f"ca{self.ending}-{number}.key"


ECDSA: Final = Kind("", "", ec.EllipticCurvePrivateKey, lambda: ec.generate_private_key(ec.SECP256R1()))
"""The cheapest handshake that every present device library knows."""
RSA: Final = Kind("-rsa", " RSA", rsa.RSAPrivateKey, lambda: rsa.generate_private_key(65_537, RSA_BITS))
KINDS: Final = (ECDSA, RSA)


class Authority(msgspec.Struct, frozen=True):
    """An authority of ours."""

    certificate: x509.Certificate
    key: Key

    @property
    def starts(self) -> datetime.datetime:
        return self.certificate.not_valid_before_utc

    @property
    def ends(self) -> datetime.datetime:
        return self.certificate.not_valid_after_utc


def keep(folder: Path, *, host: str, now: datetime.datetime) -> None:
    """Create or renew certificates that are missing, expire soon, or do not name the host. Usually does nothing. Raises
    `OSError`, `ValueError` and `TypeError`."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    known = certificates(folder / BUNDLE) if (folder / BUNDLE).exists() else []
    bundles: list[list[x509.Certificate]] = []
    issuers: list[Authority] = []
    for kind in KINDS:
        authorities = _authorities(folder, kind, known)
        # A clock that is behind every authority, as on a machine that has just started, makes none and renews nothing.
        begun = [each for each in authorities if each.starts <= now] or authorities
        if not begun or begun[-1].ends - now < SUCCESSOR_WITHIN:
            made = _new_authority(folder, kind, len(authorities), now)
            authorities.append(made)
            begun.append(made)
        issuer = next((each for each in begun if each.ends - now >= RENEW_WITHIN), begun[-1])
        issuers.append(issuer)
        # Keep expired authorities: a clock that is wrong for a while then loses nothing.
        others = [each for each in authorities if each is not issuer]
        bundles.append([each.certificate for each in (issuer, *others)])
    _replace(folder / BUNDLE, _pem([*bundles[0], *bundles[1]]), 0o644)
    _replace(folder / f"ca{RSA.ending}.crt", _pem(bundles[1]), 0o644)
    for kind, issuer in zip(KINDS, issuers, strict=True):
        certificate, key = kind.server(folder)
        if not _serves(certificate, key, issuer, host, now):
            _make_server(certificate, key, kind, issuer, host, now)


def certificates(file: Path) -> list[x509.Certificate]:
    """Every certificate in a PEM file. Raises `OSError`, `ValueError`."""
    return x509.load_pem_x509_certificates(file.read_bytes())


def _authorities(folder: Path, kind: Kind, known: Collection[x509.Certificate]) -> list[Authority]:
    found: list[Authority] = []
    for file in kind.authority_keys(folder):
        if not file.exists():
            break
        key = _private_key(file)
        if not isinstance(key, kind.type):
            raise TypeError(f"{file} is a key of another kind")
        mine = next((each for each in known if each.public_key() == key.public_key()), None)
        if mine is None:  # written just before a crash, or `ca.crt` is lost
            break
        found.append(Authority(mine, key))
    return found


def _new_authority(folder: Path, kind: Kind, number: int, now: datetime.datetime) -> Authority:
    key = kind.make()
    name = f"Tripline local{kind.name} CA {now:%Y-%m-%d %H:%M:%S}"
    signed = _begun(name, key, None, now, now + CA_LIFE).sign(key, hashes.SHA256())
    _write_key(next(itertools.islice(kind.authority_keys(folder), number, None)), key)
    return Authority(signed, key)


def _serves(certificate: Path, key: Path, issuer: Authority, host: str, now: datetime.datetime) -> bool:
    """True if the server certificate is usable now."""
    if not (certificate.exists() and key.exists()):
        return False
    found = x509.load_pem_x509_certificate(certificate.read_bytes())
    if found.public_key() != _private_key(key).public_key() or not _issued(found, issuer):
        return False
    # Dated while the clock was ahead. A clock behind the authority itself says nothing.
    if issuer.starts <= now < found.not_valid_before_utc:
        return False
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return found.not_valid_after_utc - now >= RENEW_WITHIN and set(_names(host)) <= set(names)


def _private_key(file: Path) -> PrivateKeyTypes:
    # Looking whether an RSA key is sound takes 40 ms, and ours were made here.
    return serialization.load_pem_private_key(file.read_bytes(), password=None, unsafe_skip_rsa_key_validation=True)


def _issued(certificate: x509.Certificate, issuer: Authority) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer.certificate)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _names(host: str) -> list[x509.GeneralName]:
    """This machine as clients may call it: its loopback names, the listening host, the machine's own name."""
    wanted = dict.fromkeys(["localhost", "127.0.0.1", "::1", host, socket.gethostname()])
    names: list[x509.GeneralName] = []
    for name in wanted:
        if name in sockets.EVERY_ADDRESS:
            continue
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            with contextlib.suppress(ValueError):  # a certificate cannot contain a host name outside ASCII
                names.append(x509.DNSName(name))
    return names


def _make_server(
    certificate: Path, key_file: Path, kind: Kind, issuer: Authority, host: str, now: datetime.datetime
) -> None:
    key = kind.make()
    signed = (
        _begun("Tripline server", key, issuer, now, min(now + SERVER_LIFE, issuer.ends))
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(_names(host)), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key()), critical=False)
        .sign(issuer.key, hashes.SHA256())
    )
    _write_key(key_file, key)
    _replace(certificate, _pem([signed]), 0o644)


def _begun(
    name: str, key: Key, issuer: Authority | None, now: datetime.datetime, until: datetime.datetime
) -> x509.CertificateBuilder:
    """What certificates of both sorts say; without an issuer it is an authority's."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    signs = issuer is None
    usage = x509.KeyUsage(
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
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(until)
        .add_extension(x509.BasicConstraints(ca=signs, path_length=0 if signs else None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _pem(several: Sequence[x509.Certificate]) -> bytes:
    return b"".join(each.public_bytes(serialization.Encoding.PEM) for each in several)


def _write_key(path: Path, key: Key) -> None:
    body = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _replace(path, body, 0o600)


def _replace(path: Path, body: bytes, mode: int) -> None:
    """Write a temporary file, then rename it: a crash leaves the old file or the new one, never half of one. Identical
    content is not written again."""
    if path.exists() and path.read_bytes() == body:
        return
    beside = path.with_name(path.name + ".new")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
