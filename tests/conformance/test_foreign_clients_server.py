"""Clients that others wrote against the running server: what they publish is stored once, also over restarts.

Not here: subscriptions and refusals in every detail (`test_foreign_clients_gateway.py`).
"""

import contextlib
import re
import subprocess
import threading
import time
from collections import Counter

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion
from tests.support import drives, fleet, foreign, required, servers, waits

pytestmark = [pytest.mark.deep, pytest.mark.once("how foreign clients speak")]

START_MS = 1_780_000_000_000
STRANGER = "Z" * 20
REQUESTS = "v1/sensors/me/rpc/request/+"
GRANTED = re.compile(rb"Subscribed \(mid: \d+\): 1\n")
"""What mosquitto_sub says when its filter was granted at QoS 1."""
LIMIT_S = 30
FEW, MANY = 12, 600
PACE_S = 0.004
"""Between two bodies of a stream: long enough that restarts fall into it, short enough to keep many under way."""

CLIENTS = {
    "paho": foreign.PahoPublishing,
    "mosquitto_pub": foreign.MosquittoPublishing,
    "mqtt.js": foreign.MqttJsPublishing,
}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server and a company's administrator on it, for the tests that do not stop it."""
    with (
        servers.serving(tmp_path_factory.mktemp("foreign") / "data") as server,
        fleet.Company(server.api, server.data) as company,
    ):
        yield server, company


def need(client: str) -> None:
    if client == "mosquitto_pub":
        required.need("mosquitto_pub", "mosquitto_pub against the server")
    if client == "mqtt.js":
        required.need((foreign.JS / "node_modules" / "mqtt").is_dir(), "mqtt.js against the server")


def listener_of(server: servers.Running) -> foreign.Listener:
    return foreign.Listener(server.device_host, server.device_port, server.ca)


def microtrips(count: int) -> list[bytes]:
    """Bodies of a drive that has not ended; the n-th has the n-th of `times(count)` as its header time."""
    return drives.straight_trip(1, START_MS, samples=count)[:-1]


def times(count: int) -> Counter[int]:
    return Counter(START_MS + 2_000 * number for number in range(count))


def stored(company: fleet.Company, vehicle_id: str) -> Counter[int]:
    """How often each header time is among the vehicle's microtrips, over REST."""
    trips = company.get(f"/api/tre/v1/vehicle/{vehicle_id}/trips", limit=1000)["data"]
    pages = [company.get(f"/api/tre/v1/trip/{trip['id']['id']}/microtrips", limit=1000) for trip in trips]
    assert not any(page["hasNext"] for page in pages)
    return Counter(microtrip["ts"] for page in pages for microtrip in page["data"])


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("name", CLIENTS)
def test_microtrips_of_a_foreign_client_are_read_back_once_each(served, request, name, qos):
    need(name)
    server, company = served
    one = company.vehicle_with_sensor(list(CLIENTS).index(name) * 10 + qos)

    client = CLIENTS[name](listener_of(server), one.token, qos)
    for body in microtrips(FEW):
        client.feed(body)
    acknowledged = client.finish()

    assert acknowledged == microtrips(FEW)
    if qos == 0:
        waits.seen(lambda: sum(stored(company, one.vehicle_id).values()) >= FEW)
    assert stored(company, one.vehicle_id) == times(FEW)


@pytest.mark.parametrize(("user_name", "words"), [(STRANGER, "Not authorized"), (None, "Bad user name or password")])
def test_paho_is_refused_with_the_right_code(served, user_name, words):
    server, _ = served
    codes = []
    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.tls_set(str(server.ca))
    client.username_pw_set(user_name)
    client.on_connect = lambda _client, _data, _flags, reason, _properties: codes.append(reason.getName())

    client.connect(server.device_host, server.device_port)
    waits.seen(lambda: client.loop(0.1) is None or bool(codes))
    client.disconnect()

    assert codes == [words]


@pytest.mark.parametrize("program", ["mosquitto_pub", "mosquitto_sub"])
@pytest.mark.parametrize(
    ("user_name", "code", "words"), [(STRANGER, 5, "not authorised"), ("", 4, "bad user name or password")]
)
def test_mosquitto_is_refused_with_the_right_code(served, program, user_name, code, words):
    required.need(program, f"{program} against the server")
    server, _ = served
    what = ["-m", "hello", "-q", "1"] if program == "mosquitto_pub" else ["-C", "1"]

    command = foreign.mosquitto_command(program, listener_of(server), user_name, "-t", foreign.TOPIC, *what)
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)

    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr


@pytest.mark.parametrize(("user_name", "code"), [(STRANGER, 5), ("", 4)])
def test_mqtt_js_is_refused_with_the_right_code(served, user_name, code):
    need("mqtt.js")
    server, _ = served

    command = foreign.mqtt_js_command(listener_of(server), user_name, 1)
    done = subprocess.run(
        command, cwd=foreign.JS, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S
    )

    assert (done.returncode, done.stdout) == (0, f"refused {code}\n")


# paho leaves a socket to the garbage collector when the server goes away while it connects.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <ssl.SSLSocket:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", CLIENTS)
def test_everything_acknowledged_to_a_foreign_client_outlives_a_stop_and_a_kill(tmp_path, name):
    need(name)
    with contextlib.ExitStack() as opened:
        server = opened.enter_context(servers.serving(tmp_path / "data"))
        company = opened.enter_context(fleet.Company(server.api, server.data))
        by_qos = {qos: company.vehicle_with_sensor(qos) for qos in (1, 2)}
        clients = {qos: CLIENTS[name](listener_of(server), one.token, qos) for qos, one in by_qos.items()}
        for client in clients.values():
            opened.callback(client.end)
        streams = {qos: Stream(client) for qos, client in clients.items()}

        for part, end in ((1, servers.Running.stop), (2, servers.Running.kill)):
            waits.seen(lambda part=part: all(stream.fed >= part * MANY // 3 for stream in streams.values()))
            end(server)
            server = opened.enter_context(servers.serving(server.data, *servers.same_listeners(server)))
        acknowledged = {qos: stream.finish() for qos, stream in streams.items()}

        assert {qos: len(bodies) for qos, bodies in acknowledged.items()} == {1: MANY, 2: MANY}
        assert {qos: set(bodies) for qos, bodies in acknowledged.items()} == {
            1: set(microtrips(MANY)),
            2: set(microtrips(MANY)),
        }
        assert {qos: stored(company, one.vehicle_id) for qos, one in by_qos.items()} == {1: times(MANY), 2: times(MANY)}


def test_mosquitto_sub_subscribes_again_after_a_stop(tmp_path):
    # Not after a kill: over TLS it takes an end without close-notify for an error of its own and exits.
    required.need("mosquitto_sub", "mosquitto_sub against the server")
    said = []

    def grants() -> int:
        return sum(GRANTED.fullmatch(line) is not None for line in said)

    with contextlib.ExitStack() as opened:
        server = opened.enter_context(servers.serving(tmp_path / "data"))
        token = opened.enter_context(fleet.Company(server.api, server.data)).vehicle_with_sensor(1).token
        command = foreign.mosquitto_command(
            "mosquitto_sub", listener_of(server), token, "-t", REQUESTS, "-q", "1", "-d"
        )
        client = opened.enter_context(foreign.listening_to(command, said.append))

        waits.seen(lambda: grants() == 1)
        server.stop()
        opened.enter_context(servers.serving(server.data, *servers.same_listeners(server)))
        waits.seen(lambda: grants() == 2)

        assert client.poll() is None


class Stream:
    """Feeds a client from a thread of its own, as long as the client takes it."""

    def __init__(self, client: foreign.Publishing) -> None:
        self.fed = 0
        self._client = client
        self._thread = threading.Thread(target=self._feed)
        self._thread.start()

    def finish(self) -> list[bytes]:
        """The bodies that the client knows to be acknowledged."""
        self._thread.join()
        return self._client.finish()

    def _feed(self) -> None:
        for body in microtrips(MANY):
            self._client.feed(body)
            self.fed += 1
            time.sleep(PACE_S)
