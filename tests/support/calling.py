"""A device that answers calls, over TLS with paho-mqtt: it does what a test's script says, on a thread of its own."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from tests.support import paho_clients, servers

REQUESTS = "v1/sensors/me/rpc/request/"
RESPONSE = "v1/sensors/me/rpc/response/"
RESULT = "v1/sensors/me/rpc/result/"
PATIENCE_S = 40

Script = Callable[["Box", str, bytes], None]
"""What the device does with a request: it gets itself, the Request-ID and the body."""


class Box:
    """A connected device. `script` runs for each request; without one it stays silent."""

    def __init__(
        self,
        server: servers.Running,
        token: str,
        script: Script | None = None,
        *,
        subscribes: bool = True,
        qos: int = 1,
    ) -> None:
        self.requests: list[tuple[str, bytes]] = []
        self.script = script
        self._changed = threading.Condition()
        self._acknowledged: set[int] = set()
        self._granted: set[int] = set()
        self._subscribed = threading.Event()
        self._qos = qos
        self._subscribes = subscribes
        client = self._client = paho.Client(
            CallbackAPIVersion.VERSION2, protocol=paho.MQTTv311, reconnect_on_failure=False
        )
        client.tls_set(str(server.ca))
        client.username_pw_set(token)
        client.on_connect = self._on_connect
        client.on_subscribe = lambda _client, _data, packet_id, _codes, _properties: self._on_subscribe(packet_id)
        client.on_message = self._on_message
        client.on_publish = lambda _client, _data, packet_id, _code, _properties: self._on_publish(packet_id)
        client.connect(server.device_host, server.device_port)
        client.loop_start()
        assert self._subscribed.wait(PATIENCE_S)

    def ack(self, request_id: str, body: Any) -> int:
        """Acknowledge a request: bytes as they are, anything else as JSON; the packet's id."""
        return self.send(RESPONSE + request_id, body)

    def result(self, request_id: str, body: Any) -> int:
        """Report the result of a request."""
        return self.send(RESULT + request_id, body)

    def send(self, topic: str, body: Any, *, qos: int = 1) -> int:
        """Publish."""
        payload = body if isinstance(body, bytes) else json.dumps(body)
        return self._client.publish(topic, payload, qos).mid

    def settled(self, packet_id: int) -> None:
        """Wait until the server has acknowledged what was sent with this id."""
        with self._changed:
            assert self._changed.wait_for(lambda: packet_id in self._acknowledged, PATIENCE_S)

    def taken(self) -> None:
        """Wait until the server has read everything that was sent so far, whether it acknowledged that or not."""
        _, packet_id = self._client.subscribe(REQUESTS + "+", self._qos)
        with self._changed:
            assert self._changed.wait_for(lambda: packet_id in self._granted, PATIENCE_S)

    def again(self) -> None:
        """Connect again where the connection broke, and send again what was not acknowledged."""
        paho_clients.stop(self._client)
        self._subscribed.clear()
        self._client.reconnect()
        self._client.loop_start()
        assert self._subscribed.wait(PATIENCE_S)

    def request(self, index: int = 0) -> tuple[str, bytes]:
        """Request-ID and body of a request, once it has come."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.requests) > index, PATIENCE_S)
        return self.requests[index]

    def close(self) -> None:
        """Hang up."""
        self._client.disconnect()
        paho_clients.stop(self._client)

    def _on_connect(self, client: paho.Client, *_: Any) -> None:
        if self._subscribes:
            client.subscribe(REQUESTS + "+", self._qos)
        else:
            self._subscribed.set()

    def _on_message(self, _client: paho.Client, _data: Any, message: paho.MQTTMessage) -> None:
        request_id = message.topic.removeprefix(REQUESTS)
        with self._changed:
            self.requests.append((request_id, message.payload))
            self._changed.notify_all()
        if self.script is not None:
            self.script(self, request_id, message.payload)

    def _on_subscribe(self, packet_id: int) -> None:
        self._subscribed.set()
        with self._changed:
            self._granted.add(packet_id)
            self._changed.notify_all()

    def _on_publish(self, packet_id: int) -> None:
        with self._changed:
            self._acknowledged.add(packet_id)
            self._changed.notify_all()


@contextlib.contextmanager
def box(server: servers.Running, token: str, script: Script | None = None, **how: Any) -> Iterator[Box]:
    """A device for the length of a `with` block."""
    opened = Box(server, token, script, **how)
    try:
        yield opened
    finally:
        opened.close()


def answering(ack: Any = None, result: Any = None) -> Script:
    """A device that acknowledges with one body and then reports the other; None: not at all."""

    def script(device: Box, request_id: str, _: bytes) -> None:
        if ack is not None:
            device.ack(request_id, ack)
        if result is not None:
            device.result(request_id, result)

    return script
