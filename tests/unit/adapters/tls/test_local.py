"""The local certificate authority: what it makes, keeps, renews and refuses."""

import datetime
import ipaddress
import shutil
import ssl
import stat
from pathlib import Path

import pytest
from cryptography import x509

from tripline.adapters.tls import local

NOW_MS = 1_790_000_000_000
DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def first_day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a first start: RSA keys take a while to make."""
    return local.made(tmp_path_factory.mktemp("first") / "tls", host="127.0.0.1", now_ms=NOW_MS).ca.parent


@pytest.fixture(scope="module")
def today(tmp_path_factory: pytest.TempPathFactory) -> local.Material:
    """What a first start makes today, as a client checks it. Tests only read it."""
    return local.made(tmp_path_factory.mktemp("today") / "tls", host="fleet.example.com", now_ms=real_now_ms())


@pytest.fixture
def tmp_path(tmp_path: Path, first_day: Path) -> Path:
    """A folder in which the first start was at `NOW_MS`."""
    shutil.copytree(first_day, tmp_path / "tls")
    return tmp_path


def names(material: local.Material) -> list:
    certificate = x509.load_pem_x509_certificate(material.certificate.read_bytes())
    return list(certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)


def hand_shaken(material: local.Material, host: str) -> str | None:
    """The TLS version that a client trusting the CA agrees on with the server, in memory."""
    client_side = ssl.create_default_context(cafile=str(material.ca))
    client_side.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_side.wrap_bio(to_client, to_server, server_hostname=host)
    server = local.context(material).wrap_bio(to_server, to_client, server_side=True)
    for _ in range(10):
        done = 0
        for side in (client, server):
            try:
                side.do_handshake()
                done += 1
            except ssl.SSLWantReadError:
                pass
        if done == 2:
            return client.version()
    return None


def real_now_ms() -> int:
    return int(datetime.datetime.now(datetime.UTC).timestamp() * 1000)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "fleet.example.com"])
def test_made_certificate_is_trusted_by_who_trusts_the_ca(today, host):
    assert hand_shaken(today, host) == "TLSv1.3"


def test_made_certificate_is_not_trusted_under_another_name(today):
    with pytest.raises(ssl.SSLCertVerificationError):
        hand_shaken(today, "other.example.com")


def test_keys_are_for_the_owner_alone(tmp_path):
    material = local.made(tmp_path / "tls", host="127.0.0.1", now_ms=NOW_MS)

    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) & 0o077
        for path in (material.key, tmp_path / "tls" / "ca.key", tmp_path / "tls")
    }
    assert modes == {"server.key": 0, "ca.key": 0, "tls": 0}


def test_every_address_is_no_name_of_the_certificate(tmp_path):
    material = local.made(tmp_path / "open", host="0.0.0.0", now_ms=NOW_MS)

    assert x509.IPAddress(ipaddress.ip_address("0.0.0.0")) not in names(material)
    assert x509.DNSName("localhost") in names(material)


def test_second_start_keeps_the_certificate(tmp_path):
    first = local.made(tmp_path / "tls", host="127.0.0.1", now_ms=NOW_MS).certificate.read_bytes()

    again = local.made(tmp_path / "tls", host="127.0.0.1", now_ms=NOW_MS + DAY_MS).certificate.read_bytes()

    assert again == first


@pytest.mark.parametrize(("days", "renewed"), [(366, False), (367, False), (368, True), (400, True)])
def test_certificate_is_renewed_within_30_days_of_its_end_under_the_same_ca(tmp_path, days, renewed):
    material = local.made(tmp_path / "tls", host="127.0.0.1", now_ms=NOW_MS)
    certificate, authority = material.certificate.read_bytes(), material.ca.read_bytes()

    local.made(tmp_path / "tls", host="127.0.0.1", now_ms=NOW_MS + days * DAY_MS)

    assert (material.certificate.read_bytes() != certificate) is renewed
    assert material.ca.read_bytes() == authority


def test_new_host_gets_a_certificate_that_names_it(tmp_path):
    local.made(tmp_path / "tls", host="127.0.0.1", now_ms=NOW_MS)

    material = local.made(tmp_path / "tls", host="fleet.example.com", now_ms=NOW_MS)

    assert x509.DNSName("fleet.example.com") in names(material)


def test_lost_ca_is_made_anew_with_its_certificate(tmp_path):
    material = local.made(tmp_path / "new", host="127.0.0.1", now_ms=real_now_ms())
    (tmp_path / "new" / "ca.key").unlink()

    local.made(tmp_path / "new", host="127.0.0.1", now_ms=real_now_ms())

    assert hand_shaken(material, "localhost") == "TLSv1.3"


def test_ancient_tls_is_not_spoken(tmp_path):
    material = local.made(tmp_path / "tls", host="127.0.0.1", now_ms=NOW_MS)

    assert local.context(material).minimum_version == ssl.TLSVersion.TLSv1_2


def test_end_of_the_certificate_is_told(tmp_path):
    material = local.made(tmp_path / "tls", host="127.0.0.1", now_ms=NOW_MS)

    assert local.ends_ms(material.certificate) == NOW_MS + 397 * DAY_MS


def test_key_of_another_certificate_refuses_in_one_line(tmp_path):
    one = local.made(tmp_path / "tls", host="127.0.0.1", now_ms=NOW_MS)
    other = local.made(tmp_path / "other", host="127.0.0.1", now_ms=NOW_MS)

    with pytest.raises(local.TlsError) as caught:
        local.context(local.supplied(one.certificate, other.key))
    assert str(caught.value) == (f"The certificate {one.certificate} cannot be used with its key: KEY_VALUES_MISMATCH.")


def test_missing_certificate_refuses_in_one_line(tmp_path):
    with pytest.raises(local.TlsError, match="There is no certificate"):
        local.context(local.supplied(tmp_path / "a", tmp_path / "b"))


def test_damaged_certificate_refuses_in_one_line(tmp_path):
    material = local.made(tmp_path / "tls", host="127.0.0.1", now_ms=NOW_MS)
    material.certificate.write_text("no certificate")

    with pytest.raises(local.TlsError, match=r"The certificates in .* cannot be made or read"):
        local.made(tmp_path / "tls", host="127.0.0.1", now_ms=NOW_MS)
