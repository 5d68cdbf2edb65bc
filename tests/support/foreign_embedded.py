"""A device as C programs in boxes are written: blocking socket, fixed buffers, fixed client id, one thing at a time.

Sizes and ways of the published embedded SDK (spec/rpc 1): 512 bytes for a packet in either direction, 256 for the JSON
of a request, 70 for the topic of an acknowledgement, short fields for the parameters. What does not fit fails the test,
as it would overrun the box. The protocol is written by hand from the MQTT 3.1.1 text.
"""

import json
import socket
import ssl
from typing import Any

from tests.support.foreign import Listener
from tests.support.foreign_requests import LIMIT_S, PREFIX, REQUESTS, Request

PACKET = 512
JSON = 256
TOPIC = 70
FIELDS = {"method": 31, "vid": 9, "mty": 9, "pkv": 9, "url": 127, "pyd": 127}
"""Characters that the program has room for."""


class EmbeddedDevice:
    """One connection at a time; it reads everything while it waits for something."""

    def __init__(self, listener: Listener, user_name: str, client_id: str) -> None:
        self._listener = listener
        self._user_name = user_name
        self._client_id = client_id
        self._socket: ssl.SSLSocket | None = None
        self._packet_id = 0
        self._waiting: list[Request] = []

    def connect(self) -> None:
        # Many boxes cannot check names; the authority is checked.
        context = ssl.create_default_context(cafile=self._listener.ca)
        context.check_hostname = False
        plain = socket.create_connection((self._listener.host, self._listener.port), LIMIT_S)
        self._socket = context.wrap_socket(plain)
        # Clean session, user name, and a password that is there and empty.
        head = _text(b"MQTT") + bytes([4, 0b1100_0010, 0, 60])
        self._send(0x10, head + _text(self._client_id.encode()) + _text(self._user_name.encode()) + _text(b""))
        assert self._until(0x20) == b"\x00\x00"
        packet_id = self._next_id()
        self._send(0x82, packet_id + _text(REQUESTS.encode()) + b"\x01")
        assert self._until(0x90) == packet_id + b"\x01"

    def publish(self, topic: str, body: bytes) -> None:
        packet_id = self._next_id()
        self._send(0x32, _text(topic.encode()) + packet_id + body)
        assert self._until(0x40) == packet_id

    def request(self) -> Request:
        while not self._waiting:
            self._take(*self._read_packet())
        return self._waiting.pop(0)

    def disconnect(self) -> None:
        self._send(0xE0, b"")
        self.end()

    def until_ended(self) -> None:
        assert self._socket is not None
        while True:
            try:
                if not self._socket.recv(1):
                    return
            except (ConnectionError, ssl.SSLError):
                return

    def end(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _take(self, kind: int, content: bytes) -> None:
        assert kind & 0xF0 == 0x30, f"not asked for: {kind:#x}"
        end = 2 + int.from_bytes(content[:2], "big")
        topic, content = content[2:end].decode(), content[end:]
        if kind & 0b110:
            self._send(0x40, content[:2])
            content = content[2:]
        assert len(content) < JSON
        _fits_fields(json.loads(content))
        # Everything behind the prefix is the id, and goes behind the other prefix into 70 bytes.
        assert topic.startswith(PREFIX)
        request = Request(topic, content)
        assert request.id == topic[len(PREFIX) :]
        assert len(request.acknowledgement.encode()) + 1 <= TOPIC
        self._waiting.append(request)

    def _until(self, wanted: int) -> bytes:
        """The content of the next packet of this kind; requests that come before are kept."""
        while True:
            kind, content = self._read_packet()
            if kind == wanted:
                return content
            self._take(kind, content)

    def _read_packet(self) -> tuple[int, bytes]:
        kind, length, shift = self._read(1)[0], 0, 0
        while True:
            digit = self._read(1)[0]
            length |= (digit & 127) << shift
            shift += 7
            if digit < 128:
                break
        assert 1 + shift // 7 + length <= PACKET, "the packet does not fit into the box"
        return kind, self._read(length)

    def _read(self, count: int) -> bytes:
        assert self._socket is not None
        read = b""
        while len(read) < count:
            more = self._socket.recv(count - len(read))
            assert more, "the server ended the connection"
            read += more
        return read

    def _send(self, kind: int, content: bytes) -> None:
        assert self._socket is not None
        length = bytes([len(content)]) if len(content) < 128 else bytes([len(content) % 128 | 128, len(content) // 128])
        packet = bytes([kind]) + length + content
        assert len(packet) <= PACKET
        self._socket.sendall(packet)

    def _next_id(self) -> bytes:
        self._packet_id = self._packet_id % 65_535 + 1
        return self._packet_id.to_bytes(2, "big")


def _fits_fields(asked: dict[str, Any]) -> None:
    params = asked["params"] if isinstance(asked["params"], dict) else {}
    for name, value in {**params, "method": asked["method"]}.items():
        if name in FIELDS:
            assert len(str(value).encode()) <= FIELDS[name], name


def _text(raw: bytes) -> bytes:
    return len(raw).to_bytes(2, "big") + raw
