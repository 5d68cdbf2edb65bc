"""Devices made with clients that others wrote, behind one face: paho-mqtt, aiomqtt, the mosquitto programs, mqtt.js;
and one written as the C programs in boxes are.

Each connects over TLS trusting one authority, with the same client identifier as all others, subscribes to requests at
QoS 1 and publishes at QoS 1. None comes back by itself.
"""

import asyncio
import contextlib
import json
import queue
import re
import signal
import ssl
import subprocess
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

import aiomqtt
import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from tests.support import foreign, paho_clients
from tests.support.foreign import Listener
from tests.support.foreign_embedded import EmbeddedDevice
from tests.support.foreign_requests import LIMIT_S, REQUESTS, Request

CLIENT_ID = "compiled-in"
_T = TypeVar("_T")


class ForeignDevice(Protocol):
    """A device on its listener."""

    def connect(self) -> None:
        """Connect and subscribe to requests; returns when the filter is granted."""

    def publish(self, topic: str, body: bytes) -> None:
        """Publish at QoS 1; returns when it is acknowledged."""

    def request(self) -> Request:
        """The next request that came."""

    def disconnect(self) -> None:
        """Say goodbye."""

    def until_ended(self) -> None:
        """Return when the server has ended the connection."""

    def end(self) -> None:
        """Make sure that nothing of it runs on, whatever became of the test."""


class PahoDevice:
    """paho-mqtt with its network thread, MQTT 3.1.1."""

    def __init__(self, listener: Listener, user_name: str) -> None:
        self._listener = listener
        self._user_name = user_name
        self._requests: queue.Queue[Request] = queue.Queue()
        self._granted: queue.Queue[list[int]] = queue.Queue()
        self._ended = threading.Event()
        self._client = self._new()

    def connect(self) -> None:
        self._ended.clear()
        self._client = self._new()  # One that has run once leaves sockets of its own open when it runs again.
        self._client.connect(self._listener.host, self._listener.port)
        self._client.loop_start()
        assert self._granted.get(timeout=LIMIT_S) == [1]

    def publish(self, topic: str, body: bytes) -> None:
        sent = self._client.publish(topic, body, 1)
        sent.wait_for_publish(LIMIT_S)
        assert sent.is_published()

    def request(self) -> Request:
        return self._requests.get(timeout=LIMIT_S)

    def disconnect(self) -> None:
        self._client.disconnect()
        paho_clients.stop(self._client)

    def until_ended(self) -> None:
        assert self._ended.wait(LIMIT_S)

    def end(self) -> None:
        self.disconnect()

    def _new(self) -> paho.Client:
        client = paho.Client(CallbackAPIVersion.VERSION2, CLIENT_ID, protocol=paho.MQTTv311, reconnect_on_failure=False)
        client.tls_set(str(self._listener.ca))
        client.username_pw_set(self._user_name)
        client.on_connect = lambda *_: client.subscribe(REQUESTS, 1)
        client.on_subscribe = lambda _c, _d, _id, codes, _p: self._granted.put([code.value for code in codes])
        client.on_message = lambda _c, _d, message: self._requests.put(Request(message.topic, message.payload))
        client.on_disconnect = lambda *_: self._ended.set()
        return client


class AiomqttDevice:
    """aiomqtt on an event loop of its own."""

    def __init__(self, listener: Listener, user_name: str) -> None:
        self._requests: queue.Queue[Request] = queue.Queue()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._new = lambda: aiomqtt.Client(
            listener.host,
            listener.port,
            username=user_name,
            identifier=CLIENT_ID,
            tls_context=ssl.create_default_context(cafile=listener.ca),
            protocol=aiomqtt.ProtocolVersion.V311,
        )
        self._client: aiomqtt.Client | None = None
        self._reading: Any = None

    def connect(self) -> None:
        self._run(self._connect())
        self._reading = asyncio.run_coroutine_threadsafe(self._read(), self._loop)

    def publish(self, topic: str, body: bytes) -> None:
        assert self._client is not None
        self._run(self._client.publish(topic, body, 1))

    def request(self) -> Request:
        return self._requests.get(timeout=LIMIT_S)

    def disconnect(self) -> None:
        assert self._client is not None
        self._reading.cancel()
        self._run(self._client.__aexit__(None, None, None))
        self._client = None

    def until_ended(self) -> None:
        assert isinstance(self._reading.exception(LIMIT_S), aiomqtt.MqttError)

    def end(self) -> None:
        if self._client is not None:
            with contextlib.suppress(aiomqtt.MqttError):
                self.disconnect()
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _connect(self) -> None:
        self._client = self._new()
        await self._client.__aenter__()
        granted = await self._client.subscribe(REQUESTS, 1)
        assert [int(getattr(code, "value", code)) for code in granted] == [1]

    async def _read(self) -> None:
        assert self._client is not None
        async for message in self._client.messages:
            assert isinstance(message.payload, bytes)
            self._requests.put(Request(message.topic.value, message.payload))

    def _run(self, doing: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(doing, self._loop).result(LIMIT_S)


class _Listening:
    """A running program whose output lines a test awaits."""

    def __init__(self, command: list[str], **more: Any) -> None:
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **more)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def line(self, wanted: Callable[[bytes], bool]) -> bytes:
        """The next line that is wanted; fails when the program ends before."""
        while True:
            line = self._lines.get(timeout=LIMIT_S)
            assert line is not None, "it ended"
            if wanted(line):
                return line

    def until_ended(self) -> None:
        self.process.wait(LIMIT_S)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        if self.process.stdin is not None:
            self.process.stdin.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put(None)


class MosquittoDevice:
    """mosquitto_sub for requests, and mosquitto_pub for each message: a second connection ends the first one's."""

    def __init__(self, listener: Listener, user_name: str) -> None:
        self._listener = listener
        self._user_name = user_name
        self._listening: _Listening | None = None

    def connect(self) -> None:
        command = self._command("mosquitto_sub", REQUESTS, "-F", "request %t %p", "-d")
        self._listening = _Listening(["stdbuf", "-oL", *command])
        self._listening.line(re.compile(rb"Subscribed \(mid: \d+\): 1\n").fullmatch)

    def publish(self, topic: str, body: bytes) -> None:
        self.disconnect()
        command = self._command("mosquitto_pub", topic, "-s")
        subprocess.run(command, input=body, timeout=LIMIT_S, check=True)

    def request(self) -> Request:
        assert self._listening is not None
        line = self._listening.line(lambda line: line.startswith(b"request "))
        _, topic, body = line.rstrip(b"\n").split(b" ", 2)
        return Request(topic.decode(), body)

    def disconnect(self) -> None:
        if self._listening is not None:
            self._listening.process.send_signal(signal.SIGTERM)  # It says DISCONNECT.
            self._listening.until_ended()
            self._listening.end()
            self._listening = None

    def until_ended(self) -> None:
        # It comes back by itself after a second, unless it exits; either says that it was ended.
        assert self._listening is not None
        with contextlib.suppress(AssertionError):
            self._listening.line(lambda line: b"sending CONNECT" in line)
        self._listening.end()
        self._listening = None

    def end(self) -> None:
        if self._listening is not None:
            self._listening.end()

    def _command(self, program: str, topic: str, *more: str) -> list[str]:
        where = ("-i", CLIENT_ID, "-t", topic, "-q", "1")
        return foreign.mosquitto_command(program, self._listener, self._user_name, *where, *more)


class MqttJsDevice:
    """mqtt.js in a program that does what the lines of its stdin say."""

    def __init__(self, listener: Listener, user_name: str) -> None:
        command = [
            "node",
            "device.js",
            listener.host,
            str(listener.port),
            str(listener.ca),
            user_name,
            CLIENT_ID,
            REQUESTS,
        ]
        self._start = lambda: _Listening(command, cwd=foreign.JS, stdin=subprocess.PIPE)
        self._program: _Listening | None = None
        self._waiting: list[Request] = []

    def connect(self) -> None:
        self._program = self._start()
        assert self._said("granted") == [1]

    def publish(self, topic: str, body: bytes) -> None:
        self._tell({"topic": topic, "body": body.decode()})
        self._said("published")

    def request(self) -> Request:
        while not self._waiting:
            self._said("request")
        return self._waiting.pop(0)

    def disconnect(self) -> None:
        assert self._program is not None and self._program.process.stdin is not None
        self._program.process.stdin.close()
        self._program.until_ended()
        self._program.end()
        self._program = None

    def until_ended(self) -> None:
        assert self._said("closed") is True

    def end(self) -> None:
        if self._program is not None:
            self._program.end()

    def _tell(self, what: dict[str, Any]) -> None:
        assert self._program is not None and self._program.process.stdin is not None
        self._program.process.stdin.write(json.dumps(what).encode() + b"\n")
        self._program.process.stdin.flush()

    def _said(self, name: str) -> Any:
        """What the program says under this name; requests that come before are kept."""
        assert self._program is not None
        while True:
            said = json.loads(self._program.line(bool))
            if "request" in said:
                self._waiting.append(Request(said["request"]["topic"], said["request"]["body"].encode()))
            if name in said:
                return said[name]


DEVICES: dict[str, Callable[[Listener, str], ForeignDevice]] = {
    "paho": PahoDevice,
    "aiomqtt": AiomqttDevice,
    "mosquitto": MosquittoDevice,
    "mqtt.js": MqttJsDevice,
    "embedded": lambda listener, user_name: EmbeddedDevice(listener, user_name, CLIENT_ID),
}
"""Every kind of device, made for a listener and a user name."""
