"""Certificates that change while listeners are open, by a clock of the test's own."""

import contextlib
import gc
import io
import json
import shutil
import ssl
import weakref

import pytest
from cryptography import x509
from tests.support import logs

from tripline.adapters.tls import local
from tripline.adapters.tls.local import TlsError
from tripline.adapters.tls.renewal import ServedCertificates

NOW_MS = 1_790_000_000_000
DAY_MS = 86_400_000


class Session:
    """A client and a server that have shaken hands, in memory. The client checks nothing."""

    def __init__(self, context):
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
        up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client = client.wrap_bio(down, up)
        self.server = context.wrap_bio(up, down, server_side=True)
        for side in (self.client, self.server, self.client, self.server):
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()

    @property
    def shown(self):
        """The serial number of the certificate that the server showed."""
        return x509.load_der_x509_certificate(self.client.getpeercert(binary_form=True)).serial_number

    def is_alive(self):
        self.client.write(b"ping")
        heard = self.server.read()
        self.server.write(b"pong")
        return (heard, self.client.read()) == (b"ping", b"pong")


@pytest.fixture
def tmp_path(tmp_path, pairs):
    """A folder in which the first start was at NOW_MS."""
    shutil.copytree(pairs[0].ca.parent, tmp_path / "tls")
    return tmp_path


def own(folder):
    """Certificates of our own, made at NOW_MS."""
    return ServedCertificates(lambda now_ms: local.made(folder / "tls", host="127.0.0.1", now_ms=now_ms), now_ms=NOW_MS)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Two pairs as an operator may supply them."""
    folders = [tmp_path_factory.mktemp(name) for name in ("one", "two")]
    return [local.made(folder, host="127.0.0.1", now_ms=NOW_MS) for folder in folders]


@pytest.fixture
def supplied(tmp_path, pairs):
    """The first pair in use."""
    put(tmp_path, pairs[0].certificate, pairs[0].key)
    return ServedCertificates(lambda _: local.supplied(tmp_path / "fleet.crt", tmp_path / "fleet.key"), now_ms=NOW_MS)


def put(folder, certificate, key):
    shutil.copy(certificate, folder / "fleet.crt")
    shutil.copy(key, folder / "fleet.key")


def serial(certificate):
    return x509.load_pem_x509_certificate(certificate.read_bytes()).serial_number


def told(look, times):
    """What so many looks log."""
    stream = io.StringIO()
    logs.plain(stream)
    try:
        for _ in range(times):
            look()
    finally:
        logs.plain()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize(("days", "renewed"), [(366, False), (367, False), (368, True), (396, True), (900, True)])
def test_own_certificate_is_renewed_within_30_days_of_its_end(tmp_path, days, renewed):
    served = own(tmp_path)
    before = Session(served.context).shown

    assert served.look(now_ms=NOW_MS + days * DAY_MS) is renewed

    assert (Session(served.context).shown != before) is renewed
    assert served.ends_ms == NOW_MS + (397 + (days if renewed else 0)) * DAY_MS


def test_sessions_of_before_live_on_and_new_ones_get_the_new_certificate(tmp_path):
    served = own(tmp_path)
    old = Session(served.context)
    assert old.is_alive()

    served.look(now_ms=NOW_MS + 380 * DAY_MS)

    new = Session(served.context)
    assert old.is_alive()
    assert new.is_alive()
    assert new.shown == serial(served.material.certificate) != old.shown


def test_contexts_of_before_go_with_their_last_session(tmp_path):
    served = own(tmp_path)
    former = weakref.ref(served.context.latest)
    old = Session(served.context)

    served.look(now_ms=NOW_MS + 380 * DAY_MS)
    assert former() is not None
    assert old.is_alive()
    del old
    gc.collect()

    assert former() is None


def test_renewal_is_told(tmp_path):
    served = own(tmp_path)

    events = told(lambda: served.look(now_ms=NOW_MS + 380 * DAY_MS), 2)

    assert [(each["event"], each["level"], each["days"]) for each in events] == [("tls.renewed", "info", 397)]


def test_supplied_pair_that_is_replaced_is_used(tmp_path, supplied, pairs):
    old = Session(supplied.context)

    put(tmp_path, pairs[1].certificate, pairs[1].key)

    assert supplied.look(now_ms=NOW_MS) is True
    assert Session(supplied.context).shown == serial(pairs[1].certificate)
    assert old.is_alive()
    assert supplied.look(now_ms=NOW_MS) is False


def test_supplied_pair_may_change_its_kind_of_key(tmp_path, supplied, pairs):
    put(tmp_path, *pairs[1].rsa)

    supplied.look(now_ms=NOW_MS)

    assert Session(supplied.context).shown == serial(pairs[1].rsa[0])


def test_half_replaced_pair_keeps_the_former_and_is_used_once_it_is_whole(tmp_path, supplied, pairs):
    shutil.copy(pairs[1].certificate, tmp_path / "fleet.crt")
    assert told(lambda: supplied.look(now_ms=NOW_MS), 1) == []
    assert Session(supplied.context).shown == serial(pairs[0].certificate)

    shutil.copy(pairs[1].key, tmp_path / "fleet.key")

    assert supplied.look(now_ms=NOW_MS) is True
    assert Session(supplied.context).shown == serial(pairs[1].certificate)


@pytest.mark.parametrize("broken", ["other key", "no certificate", "gone", "empty", "ended"])
def test_pair_that_cannot_be_used_keeps_the_former_and_is_told_once(tmp_path, supplied, pairs, broken):
    now_ms = NOW_MS
    if broken == "other key":
        shutil.copy(pairs[1].key, tmp_path / "fleet.key")
    elif broken == "no certificate":
        (tmp_path / "fleet.crt").write_text("no certificate")
    elif broken == "gone":
        (tmp_path / "fleet.crt").unlink()
    elif broken == "empty":
        (tmp_path / "fleet.crt").write_bytes(b"")
    else:
        put(tmp_path, pairs[1].certificate, pairs[1].key)
        now_ms += 397 * DAY_MS

    events = told(lambda: supplied.look(now_ms=now_ms), 5)

    assert [(each["event"], each["level"]) for each in events] == [("tls.not_renewed", "error")]
    assert str(tmp_path / "fleet") in events[0]["reason"]
    assert Session(supplied.context).shown == serial(pairs[0].certificate)


def test_folder_that_cannot_be_written_keeps_the_certificate_in_use(tmp_path):
    served = own(tmp_path)
    before = Session(served.context).shown
    shutil.rmtree(tmp_path / "tls")
    (tmp_path / "tls").write_text("a file in its place")

    events = told(lambda: served.look(now_ms=NOW_MS + 380 * DAY_MS), 3)

    assert [each["event"] for each in events] == ["tls.not_renewed"]
    assert Session(served.context).shown == before


def test_authority_near_its_end_is_told_now_and_then(tmp_path):
    served = own(tmp_path)
    ends_day = 3650

    def look(left_days):
        return [
            (each["event"], each["level"], each["days"])
            for each in told(lambda: served.look(now_ms=NOW_MS + (ends_day - left_days) * DAY_MS), 1)
            if each["event"] != "tls.renewed"
        ]

    assert [look(left_days) for left_days in (731, 730, 729, 728, 699)] == [
        [],
        [],
        [("tls.authority_ends", "warning", 729)],
        [],
        [("tls.authority_ends", "warning", 699)],
    ]


def test_pair_that_cannot_be_used_at_the_start_is_refused(tmp_path):
    with pytest.raises(TlsError, match=r"There is no certificate .* or key"):
        ServedCertificates(lambda _: local.supplied(tmp_path / "a", tmp_path / "b"), now_ms=NOW_MS)
