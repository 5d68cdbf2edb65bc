"""Publishing clients that others wrote, behind one face: paho-mqtt, mosquitto_pub, mqtt.js.

Each connects over TLS trusting one authority, reconnects in its own way, and says which bodies were acknowledged.
"""

import contextlib
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from tests.support import paho_clients

TOPIC = "v1/sensors/me/tre"
JS = Path(__file__).parents[1] / "conformance" / "js"
PATIENCE_S = 60


@dataclass(frozen=True, slots=True)
class Listener:
    """Where devices connect, and the authority they trust."""

    host: str
    port: int
    ca: Path


class Publishing(Protocol):
    """A client that publishes what it is fed, at one QoS."""

    def feed(self, body: bytes) -> None:
        """Publish this next; returns before it is acknowledged."""

    def finish(self) -> list[bytes]:
        """Disconnect once everything is acknowledged, or when patience ends; the acknowledged bodies."""

    def end(self) -> None:
        """Make sure that nothing of it runs on, whatever became of the test."""


class PahoPublishing:
    """paho-mqtt with its network thread."""

    def __init__(self, listener: Listener, user_name: str, qos: int) -> None:
        self._qos = qos
        self._sent: dict[int, bytes] = {}
        self._acknowledged: list[int] = []
        self._changed = threading.Condition()
        self._client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv311)
        self._client.tls_set(str(listener.ca))
        self._client.username_pw_set(user_name)
        self._client.on_publish = lambda _client, _data, packet_id, _code, _properties: self._on_publish(packet_id)
        self._client.connect(listener.host, listener.port)
        self._client.loop_start()

    def feed(self, body: bytes) -> None:
        """Publish this next."""
        self._sent[self._client.publish(TOPIC, body, self._qos).mid] = body

    def finish(self) -> list[bytes]:
        """The acknowledged bodies."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._acknowledged) >= len(self._sent), PATIENCE_S)
        self.end()
        return [self._sent[packet_id] for packet_id in self._acknowledged]

    def end(self) -> None:
        """Disconnect."""
        self._client.disconnect()
        paho_clients.stop(self._client)

    def _on_publish(self, packet_id: int) -> None:
        with self._changed:
            self._acknowledged.append(packet_id)
            self._changed.notify()


class _Process:
    """A client program that publishes the lines of its stdin."""

    def __init__(self, command: list[str], cwd: Path | None = None) -> None:
        self._fed: list[bytes] = []
        self._process = subprocess.Popen(
            command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._said: list[bytes] = []
        # Read all along, so that a talkative program never waits for its reader.
        self._complained: list[bytes] = []
        self._readers = [
            _reading(self._process.stdout, self._said.append),
            _reading(self._process.stderr, self._complained.append),
        ]

    def feed(self, body: bytes) -> None:
        """Publish this next."""
        assert self._process.stdin is not None
        self._fed.append(body)
        with contextlib.suppress(BrokenPipeError):  # The program has ended; what it missed is seen at the end.
            self._process.stdin.write(body + b"\n")
            self._process.stdin.flush()

    def end(self) -> None:
        """Kill it, if it runs still."""
        self._process.kill()
        self._process.wait()
        for reader in self._readers:
            reader.join()

    def _ended(self) -> int:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            return self._process.wait(PATIENCE_S)
        finally:
            self.end()


class MosquittoPublishing(_Process):
    """`mosquitto_pub -l`, started again by its supervisor with what was not acknowledged.

    Over TLS it reconnects by itself only after an end that it takes for orderly; a server that was killed may end its
    network thread, after which it exits, with 0 all the same. So its word for each acknowledgement is what counts.
    """

    _ACKNOWLEDGED = re.compile(rb".* received PUB(?:ACK|COMP) \(Mid: (\d+), RC:0\)\n")

    def __init__(self, listener: Listener, user_name: str, qos: int) -> None:
        self._again = lambda: MosquittoPublishing(listener, user_name, qos)
        self._qos = qos
        more = ("-t", TOPIC, "-q", str(qos), "-l", "-d")
        super().__init__(mosquitto_command("mosquitto_pub", listener, user_name, *more))

    def finish(self) -> list[bytes]:
        """The acknowledged bodies; at QoS 0, where nobody acknowledges, all when it ended well."""
        status = self._ended()
        if self._qos == 0:
            return self._fed if status == 0 else []
        # Its packet ids count its lines from 1.
        found = filter(None, map(self._ACKNOWLEDGED.fullmatch, self._said))
        numbers = list(dict.fromkeys(int(match[1]) - 1 for match in found))
        acknowledged = [self._fed[number] for number in numbers]
        left = [body for number, body in enumerate(self._fed) if number not in set(numbers)]
        return acknowledged + self._published_again(left) if left and acknowledged else acknowledged

    def _published_again(self, left: list[bytes]) -> list[bytes]:
        following = self._again()
        for body in left:
            following.feed(body)
        return following.finish()


class MqttJsPublishing(_Process):
    """mqtt.js, which tells of each acknowledgement."""

    def __init__(self, listener: Listener, user_name: str, qos: int) -> None:
        super().__init__(mqtt_js_command(listener, user_name, qos), JS)

    def finish(self) -> list[bytes]:
        """The acknowledged bodies."""
        status = self._ended()
        assert status == 0, b"".join(self._complained).decode()
        return [self._fed[int(number)] for number in self._said]


@contextlib.contextmanager
def listening_to(command: list[str], take: Callable[[bytes], None]) -> Iterator[subprocess.Popen[bytes]]:
    """A client program whose lines on stdout are handed over as they come; killed at the end."""
    process = subprocess.Popen(["stdbuf", "-oL", *command], stdout=subprocess.PIPE)
    reader = _reading(process.stdout, take)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        reader.join()


def mosquitto_command(program: str, listener: Listener, user_name: str, *more: str) -> list[str]:
    """The command line of mosquitto_pub or mosquitto_sub; without user name for an empty one."""
    user = ["-u", user_name] if user_name else []
    where = ["-h", listener.host, "-p", str(listener.port), "--cafile", str(listener.ca)]
    return [program, *where, "-V", "mqttv311", *user, *more]


def mqtt_js_command(listener: Listener, user_name: str, qos: int) -> list[str]:
    """The command line of the script that publishes with mqtt.js; to be run in `JS`."""
    return ["node", "stream.js", listener.host, str(listener.port), str(listener.ca), user_name, TOPIC, str(qos)]


def _reading(stream: IO[bytes] | None, take: Callable[[bytes], None]) -> threading.Thread:
    assert stream is not None
    opened = stream

    def read() -> None:
        with opened:
            for line in opened:
                take(line)

    thread = threading.Thread(target=read)
    thread.start()
    return thread
