"""Listeners of a real broker that ask who comes: SCRAM, PLAIN, TLS, certificates; each opened, and each kept shut."""

import asyncio
import io
import json
import subprocess
import sys

import pytest
from tests.support import brokers, certificates, logs

from tripline import config
from tripline.adapters.kafka.reader import KafkaReader
from tripline.adapters.kafka.writer import KafkaWriter
from tripline.ports.bus import BusNote
from tripline.ports.outages import Outage

pytestmark = pytest.mark.deep

PATIENCE_S = 60
TOPIC = "secured"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return certificates.make(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def strangers(tmp_path_factory):
    """Certificates of an authority that the broker does not know, and that does not know the broker."""
    return certificates.make(tmp_path_factory.mktemp("strangers"))


@pytest.fixture(scope="module")
def secured(files):
    return brokers.Secured(files)


@pytest.fixture(scope="module")
def bus(tmp_path_factory, secured):
    brokers.need("whom a broker lets in")
    with brokers.cluster(tmp_path_factory.mktemp("kafka"), secured=secured) as made:
        made.make_topic(TOPIC)
        yield made


def settings(bus, endpoint, secured, **changed):
    """What opens the endpoint, unless it is changed."""
    protocol = brokers.SECURED[endpoint].lower()
    made = {"url": bus.endpoint(endpoint), "security": protocol, "timeout_s": 30.0}
    if protocol.startswith("sasl"):
        made |= {"user": secured.user, "password": secured.password}
    if protocol.endswith("ssl"):
        made |= {"ca": str(secured.certificates.ca)}
    if endpoint == "MTLS":
        made |= {"cert": str(secured.certificates.certificate), "key": str(secured.certificates.key)}
    return config.Bus(**(made | changed))


def whole(playing):
    async def timed():
        async with asyncio.timeout(PATIENCE_S):
            return await playing

    return asyncio.run(timed())


@pytest.mark.parametrize(
    ("endpoint", "changed"),
    [
        ("SASL", {"mechanism": "SCRAM-SHA-512"}),
        ("SASL", {"mechanism": "SCRAM-SHA-256"}),
        ("SASL", {"mechanism": "PLAIN"}),
        ("TLS", {}),
        ("MTLS", {}),
        ("SASLTLS", {"mechanism": "SCRAM-SHA-512"}),
    ],
)
def test_endpoint_is_opened_by_what_it_asks_for(bus, secured, endpoint, changed, request):
    made = settings(bus, endpoint, secured, **changed)
    body = request.node.name.encode()

    async def play():
        writer = KafkaWriter(made)
        reader = KafkaReader(made, topics=[TOPIC], group=request.node.name)
        await writer.deliver([BusNote(TOPIC, b"k", body)])
        values = []
        while body not in values:
            batch = await reader.read()
            values += [message.value for message in batch.messages]
            reader.done(batch)
        await reader.close()
        await writer.close()

    whole(play())


@pytest.mark.parametrize(
    ("endpoint", "changed", "event", "code"),
    [
        ("SASL", {"password": "wrong"}, "bus.refused", "_AUTHENTICATION"),
        ("SASL", {"user": "nobody"}, "bus.refused", "_AUTHENTICATION"),
        ("SASL", {"mechanism": "PLAIN", "password": "wrong"}, "bus.refused", "_AUTHENTICATION"),
        ("SASLTLS", {"password": "wrong"}, "bus.refused", "_AUTHENTICATION"),
        ("TLS", {"ca": "strangers"}, "bus.refused", "_SSL"),
        ("TLS", {"ca": ""}, "bus.refused", "_SSL"),
        ("MTLS", {"cert": "", "key": ""}, "bus.away", "_TRANSPORT"),
        ("MTLS", {"cert": "strangers", "key": "strangers"}, "bus.away", "_TRANSPORT"),
    ],
    ids=[
        "wrong password",
        "unknown user",
        "wrong password, plain",
        "wrong password over TLS",
        "authority of others",
        "authorities of the system",
        "no certificate",
        "certificate of others",
    ],
)
def test_endpoint_stays_shut_and_the_log_says_why_without_secrets(
    bus, secured, strangers, endpoint, changed, event, code
):
    """A broker that misses a certificate says nothing (TLS 1.3): it just closes."""
    others = {"ca": strangers.ca, "cert": strangers.certificate, "key": strangers.key}
    changed = {name: str(others[name]) if value == "strangers" else value for name, value in changed.items()}
    made = settings(bus, endpoint, secured, timeout_s=2.0, **changed)
    kept = len(bus.kept(TOPIC))

    async def play():
        writer = KafkaWriter(made)
        reader = KafkaReader(made, topics=[TOPIC], group="refused")
        with pytest.raises(Outage):
            await writer.deliver([BusNote(TOPIC, b"k", b"x")])
        reading = asyncio.ensure_future(reader.read())
        done, _ = await asyncio.wait([reading], timeout=0.1)
        reading.cancel()
        await writer.close()
        await reader.close()
        return done

    said = io.StringIO()
    logs.plain(said)
    done = whole(play())
    logs.plain()
    lines = [json.loads(line) for line in said.getvalue().splitlines()]

    assert not done
    assert len(bus.kept(TOPIC)) == kept
    assert {(line["event"], line["side"], line.get("code")) for line in lines} >= {
        (event, "writer", code),
        (event, "reader", code),
    }
    for secret in (made.password or "open sesame", made.url.removeprefix("kafka://"), "wrong"):
        assert secret not in said.getvalue()


@pytest.mark.parametrize("setting", ["ca", "cert", "key"])
def test_file_that_cannot_be_read_is_said_at_once(bus, secured, tmp_path, setting):
    made = settings(bus, "MTLS", secured, **{setting: str(tmp_path / "nothing")})

    async def play():
        with pytest.raises(Outage, match=rf"bus\.{setting}: .*nothing cannot be read"):
            KafkaWriter(made)
        with pytest.raises(Outage, match=rf"bus\.{setting}: "):
            KafkaReader(made, topics=[TOPIC], group="g")

    whole(play())


@pytest.mark.parametrize("setting", ["ca", "cert", "key"])
def test_file_that_is_no_pem_is_said_at_once(bus, secured, tmp_path, setting):
    (tmp_path / "nonsense").write_text("no certificate")
    made = settings(bus, "MTLS", secured, **{setting: str(tmp_path / "nonsense")})

    async def play():
        with pytest.raises(Outage, match="bus"):
            KafkaWriter(made)

    whole(play())


def test_library_writes_nothing_to_standard_error(bus, secured):
    """Its own lines name brokers and users."""
    code = (
        "import asyncio; from tripline import config; from tripline.adapters.kafka.writer import KafkaWriter\n"
        "from tripline.ports.bus import BusNote\n"
        "from tripline.ports.outages import Outage\n"
        "async def play():\n"
        f"    writer = KafkaWriter(config.Bus(url={bus.endpoint('SASL')!r}, security='sasl_plaintext', user='nobody',"
        " password='wrong', timeout_s=1))\n"
        "    try: await writer.deliver([BusNote('x', None, b'x')])\n"
        "    except Outage: pass\n"
        "    await writer.close()\n"
        "asyncio.run(play())"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)

    assert (done.returncode, done.stderr) == (0, "")
    assert "127.0.0.1" not in done.stdout
