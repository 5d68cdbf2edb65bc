"""Clients that others wrote speak to the device listener over TLS, trusting its authority."""

import asyncio
import json
import subprocess
from pathlib import Path

import paho.mqtt.client as paho
import pytest
import uvloop
from paho.mqtt.enums import CallbackAPIVersion
from tests.support import certificates, paho_clients, required, waits
from tests.support.gateways import SENSORS, USER, MemoryIntake, listening

TRE = "v1/sensors/me/tre"
REQUESTS = "v1/sensors/me/rpc/request/"
STRANGER = "Z" * 20
JS = Path(__file__).parent / "js"
LIMIT_S = 30


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    return certificates.make(tmp_path_factory.mktemp("tls"))


def against_gateway(tls, talk, *, expected=0, while_open=None):
    """Run `talk(host, port)` in a thread against a gateway: its result, and the bodies the intake got."""

    async def scenario():
        intake = MemoryIntake()
        async with listening(intake) as listener:
            host, port = await listener.start("127.0.0.1", 0, tls.server_context())
            async with asyncio.timeout(LIMIT_S):
                talking = asyncio.to_thread(talk, host, port)
                if while_open is None:
                    result = await talking
                else:
                    result, _ = await asyncio.gather(talking, while_open(listener))
                await intake.until(expected)
            assert {(sensor, topic) for sensor, topic, _ in intake.frames} <= {(SENSORS[USER], TRE)}
            return result, [body for _, _, body in intake.frames]

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(scenario())


async def send_request(listener):
    """Wait for the device's subscription, then send it a request."""

    def sent():
        session = listener.roster.find(SENSORS[USER])
        return session is not None and session.publish(REQUESTS + "7", b'{"method":"ping"}', qos=1) is not None

    await waits.until(sent)


def paho_client(tls, user_name):
    client = paho.Client(CallbackAPIVersion.VERSION2, client_id="same-on-all")
    client.tls_set(str(tls.ca))
    client.username_pw_set(user_name)
    return client


def test_paho_publishes_at_every_qos(tls):
    def talk(host, port):
        client = paho_client(tls, USER)
        client.connect(host, port)
        client.loop_start()
        for qos in (0, 1, 2):
            client.publish(TRE, f"qos {qos}", qos).wait_for_publish(LIMIT_S)
        client.disconnect()
        paho_clients.stop(client)

    _, bodies = against_gateway(tls, talk, expected=3)

    assert bodies == [b"qos 0", b"qos 1", b"qos 2"]


@pytest.mark.parametrize(("user_name", "code"), [(STRANGER, 5), ("", 4), (None, 4)])
def test_paho_is_refused_with_the_right_code(tls, user_name, code):
    def talk(host, port):
        codes = []
        client = paho_client(tls, user_name)
        client.on_connect = lambda _client, _data, _flags, reason, _properties: codes.append(reason.getName())
        client.connect(host, port)
        while not codes:
            client.loop(0.1)
        client.loop(0.1)
        client.disconnect()
        return codes

    assert against_gateway(tls, talk) == ([{4: "Bad user name or password", 5: "Not authorized"}[code]], [])


def test_paho_receives_a_request_it_subscribed_to_and_is_denied_other_filters(tls):
    def talk(host, port):
        granted, received = [], []
        client = paho_client(tls, USER)
        client.on_subscribe = lambda _client, _data, _id, codes, _properties: granted.append([c.value for c in codes])
        client.on_message = lambda _client, _data, message: received.append((message.topic, message.payload))
        client.on_connect = lambda *_: client.subscribe([(REQUESTS + "+", 1), ("#", 1)])
        client.connect(host, port)
        while not received:
            client.loop(0.1)
        client.disconnect()
        return granted, received

    result, _ = against_gateway(tls, talk, while_open=send_request)

    assert result == ([[1, 128]], [(REQUESTS + "7", b'{"method":"ping"}')])


def mosquitto(command, tls, host, port, user_name, *more):
    arguments = ["-h", host, "-p", str(port), "--cafile", str(tls.ca), "-V", "mqttv311", "-u", user_name, *more]
    done = subprocess.run([command, *arguments], capture_output=True, text=True, timeout=LIMIT_S)
    return done.returncode, done.stdout, done.stderr.strip()


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_mosquitto_pub_publishes(tls, qos):
    required.need("mosquitto_pub", "mosquitto_pub against the device listener")

    def talk(host, port):
        return mosquitto("mosquitto_pub", tls, host, port, USER, "-t", TRE, "-m", "hello", "-q", str(qos))

    assert against_gateway(tls, talk, expected=1) == ((0, "", ""), [b"hello"])


@pytest.mark.parametrize(
    ("user_name", "code", "words"),
    [(STRANGER, 5, "not authorised"), ("", 4, "bad user name or password")],
)
def test_mosquitto_pub_is_refused_with_the_right_code(tls, user_name, code, words):
    required.need("mosquitto_pub", "mosquitto_pub against the device listener")

    def talk(host, port):
        return mosquitto("mosquitto_pub", tls, host, port, user_name, "-t", TRE, "-m", "hello", "-q", "1")

    (status, _, message), bodies = against_gateway(tls, talk)

    assert (status, bodies) == (code, [])
    assert words in message


def test_mosquitto_sub_receives_a_request(tls):
    required.need("mosquitto_sub", "mosquitto_sub against the device listener")

    def talk(host, port):
        wait = ["-t", REQUESTS + "+", "-q", "1", "-C", "1", "-W", str(LIMIT_S), "-v"]
        return mosquitto("mosquitto_sub", tls, host, port, USER, *wait)

    result, _ = against_gateway(tls, talk, while_open=send_request)

    assert result == (0, f'{REQUESTS}7 {{"method":"ping"}}\n', "")


def mqtt_js(tls, host, port, user_name):
    command = ["node", "publish.js", host, str(port), str(tls.ca), user_name, TRE]
    done = subprocess.run(command, cwd=JS, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    return json.loads(done.stdout)


def test_mqtt_js_subscribes_and_publishes_at_every_qos(tls):
    required.need((JS / "node_modules" / "mqtt").is_dir(), "mqtt.js against the device listener")

    result = against_gateway(tls, lambda host, port: mqtt_js(tls, host, port, USER), expected=3)

    assert result == ({"granted": [1]}, [b'{"qos":0}', b'{"qos":1}', b'{"qos":2}'])


@pytest.mark.parametrize(("user_name", "code"), [(STRANGER, 5), ("", 4)])
def test_mqtt_js_is_refused_with_the_right_code(tls, user_name, code):
    required.need((JS / "node_modules" / "mqtt").is_dir(), "mqtt.js against the device listener")

    assert against_gateway(tls, lambda host, port: mqtt_js(tls, host, port, user_name)) == ({"refused": code}, [])
