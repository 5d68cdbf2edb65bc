"""The local authorities: two kinds of keys, successors in time, and what crashes and wrong clocks leave."""

import datetime
import shutil
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from tripline.adapters.tls import authority as tls_authority
from tripline.adapters.tls import local

NOW_MS = 1_790_000_000_000
DAY_MS = 86_400_000
LIFE_DAYS = 3650


@pytest.fixture(scope="module")
def first_day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a first start: RSA keys take a while to make."""
    return made(tmp_path_factory.mktemp("first")).ca.parent


@pytest.fixture
def tmp_path(tmp_path: Path, first_day: Path) -> Path:
    """A folder in which the first start was at `NOW_MS`."""
    shutil.copytree(first_day, tmp_path / "tls")
    return tmp_path


def made(folder: Path, *, days: float = 0) -> local.Material:
    """The material as it is kept so many days after the first."""
    return local.made(folder / "tls", host="127.0.0.1", now_ms=int(NOW_MS + days * DAY_MS))


def first(file: Path) -> x509.Certificate:
    return tls_authority.certificates(file)[0]


def bundle(folder: Path) -> list[str]:
    """Who is in `ca.crt`: kind of key, and the year of birth."""
    found = tls_authority.certificates(folder / "tls" / "ca.crt")
    kinds = {ec.EllipticCurvePublicKey: "ECDSA", rsa.RSAPublicKey: "RSA"}
    return [
        f"{next(name for kind, name in kinds.items() if isinstance(each.public_key(), kind))}"
        f" {each.not_valid_before_utc.year}"
        for each in found
    ]


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (folder / "tls").iterdir()}


def test_both_chains_are_signed_by_one_kind_of_key_throughout(tmp_path):
    material = made(tmp_path)
    kinds = {}

    for (certificate, _), authority in zip(material.pairs, ("ca.crt", "ca-rsa.crt"), strict=True):
        chain = [first(certificate), first(tmp_path / "tls" / authority)]
        chain[0].verify_directly_issued_by(chain[1])
        chain[1].verify_directly_issued_by(chain[1])
        kinds[authority] = [type(each.public_key()).__name__ for each in chain]

    assert kinds == {"ca.crt": ["ECPublicKey"] * 2, "ca-rsa.crt": ["RSAPublicKey"] * 2}
    assert bundle(tmp_path) == ["ECDSA 2026", "RSA 2026"]
    assert tls_authority.certificates(tmp_path / "tls" / "ca-rsa.crt") == tls_authority.certificates(material.ca)[1:]


def test_installation_of_before_keeps_its_authority_first_and_its_certificate(tmp_path):
    material = made(tmp_path)
    before = first(material.ca), first(material.certificate)
    for file in (tmp_path / "tls").glob("*-rsa.*"):
        file.unlink()
    material.ca.write_bytes(material.ca.read_bytes().partition(b"-----END CERTIFICATE-----\n")[0])
    with material.ca.open("ab") as file:
        file.write(b"-----END CERTIFICATE-----\n")
    assert bundle(tmp_path) == ["ECDSA 2026"]

    made(tmp_path, days=1)

    assert (first(material.ca), first(material.certificate)) == before
    assert bundle(tmp_path) == ["ECDSA 2026", "RSA 2026"]


@pytest.mark.parametrize(("left_days", "successor"), [(731, False), (730, False), (729, True), (31, True)])
def test_successor_is_made_two_years_ahead_and_waits(tmp_path, left_days, successor):
    authority = first(made(tmp_path).ca)

    material = made(tmp_path, days=LIFE_DAYS - left_days)

    assert len(bundle(tmp_path)) == (4 if successor else 2)
    assert first(material.ca) == authority
    first(material.certificate).verify_directly_issued_by(authority)


@pytest.mark.parametrize(("left_days", "issued_by_successor"), [(31, False), (30, False), (29, True), (-400, True)])
def test_successor_issues_from_30_days_before_the_end(tmp_path, left_days, issued_by_successor):
    old = first(made(tmp_path).ca)
    made(tmp_path, days=LIFE_DAYS - 700)
    told = tls_authority.certificates(tmp_path / "tls" / "ca.crt")

    material = made(tmp_path, days=LIFE_DAYS - left_days)

    issuer = first(material.ca)
    assert (issuer != old) is issued_by_successor
    assert issuer in told, "devices that were given ca.crt since the successor is in it trust it"
    first(material.certificate).verify_directly_issued_by(issuer)
    assert set(told) <= set(tls_authority.certificates(material.ca))


def test_second_look_writes_nothing(tmp_path):
    made(tmp_path)
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "tls").iterdir()}

    made(tmp_path, days=1)

    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "tls").iterdir()} == before


@pytest.mark.parametrize("lost", ["server.crt", "server.key", "server-rsa.crt", "server-rsa.key"])
def test_half_of_a_pair_is_made_anew_under_the_same_authority(tmp_path, lost):
    material = made(tmp_path)
    authorities = material.ca.read_bytes()
    (tmp_path / "tls" / lost).unlink()

    local.context(made(tmp_path))

    assert material.ca.read_bytes() == authorities


def test_crash_between_key_and_certificate_leaves_nothing_that_does_not_fit(tmp_path):
    material = made(tmp_path)
    other = made(tmp_path / "other")
    material.key.write_bytes(other.key.read_bytes())

    local.context(made(tmp_path))


def test_key_of_an_authority_that_a_crash_left_without_certificate_is_replaced(tmp_path):
    made(tmp_path)
    (tmp_path / "tls" / "ca-2.key").write_bytes((made(tmp_path / "other").ca.parent / "ca.key").read_bytes())

    material = made(tmp_path, days=LIFE_DAYS - 700)

    assert len(bundle(tmp_path)) == 4
    local.context(material)


@pytest.mark.parametrize("ahead_days", [380, 5_000], ids=["same authority", "successor"])
def test_certificate_dated_ahead_is_made_anew_once_the_clock_is_right(tmp_path, ahead_days):
    authority = first(made(tmp_path).ca)
    made(tmp_path, days=ahead_days)

    material = made(tmp_path, days=10)

    certificate = first(material.certificate)
    assert certificate.not_valid_before_utc <= datetime.datetime.fromtimestamp(NOW_MS / 1000 + 864_000, datetime.UTC)
    assert first(material.ca) == authority
    certificate.verify_directly_issued_by(authority)


def test_clock_behind_the_authority_changes_nothing(tmp_path):
    made(tmp_path)
    before = contents(tmp_path)

    made(tmp_path, days=-20_000)

    assert contents(tmp_path) == before
