"""A certificate authority and a server certificate for 127.0.0.1, made when a test wants one."""

import datetime
import ipaddress
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files."""

    ca: Path
    certificate: Path
    key: Path

    def server_context(self) -> ssl.SSLContext:
        """What a server presents."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.certificate, self.key)
        return context

    def client_context(self) -> ssl.SSLContext:
        """A client that trusts this authority and no other."""
        return ssl.create_default_context(cafile=self.ca)


def make(folder: Path, *, beside: Sequence[str] = (), ends: datetime.datetime | None = None) -> Certificates:
    """Write a new authority and a server certificate into the folder, for the loopback and these addresses `beside`.
    `ends`: when the certificate ends (default: tomorrow)."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
    ca = _signed(ca_name, ca_name, ca_key, ca_key, x509.BasicConstraints(ca=True, path_length=0))
    server_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    leaf = x509.BasicConstraints(ca=False, path_length=None)
    server = _signed(server_name, ca_name, key, ca_key, leaf, ("127.0.0.1", *beside), ends)
    made = Certificates(folder / "ca.crt", folder / "server.crt", folder / "server.key")
    made.ca.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    made.certificate.write_bytes(server.public_bytes(serialization.Encoding.PEM))
    made.key.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return made


def _signed(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    constraints: x509.BasicConstraints,
    addresses: Sequence[str] = (),
    ends: datetime.datetime | None = None,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(ends or now + datetime.timedelta(days=1))
        .add_extension(constraints, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    if not constraints.ca:
        these = [x509.IPAddress(ipaddress.ip_address(each)) for each in addresses]
        names = x509.SubjectAlternativeName([*these, x509.DNSName("localhost")])
        builder = builder.add_extension(names, critical=False)
    return builder.sign(signer, hashes.SHA256())
