"""The MQTT topics of a device. `me` is a literal: it means the sensor whose credentials id opened the connection.

Source: spec/device-messages 1.1, spec/rpc 1. Not here: who may subscribe (`gateway/listener.py`).
"""

from typing import Final

TRE: Final = "v1/sensors/me/tre"
"""Trips, microtrips and events with their header, as JSON."""
TRE_MSGPACK: Final = "v1/sensors/me/mp/tre"
"""The same object as MessagePack."""
TELEMETRY: Final = "v1/sensors/me/telemetry"
"""Events of class Time Series without header; withdrawn from the documents, still used by devices."""
ATTRIBUTES: Final = "v1/sensors/me/attributes"
"""Events of class Attributes without header; likewise."""

RPC_REQUEST: Final = "v1/sensors/me/rpc/request/"
"""Platform to device; the request id follows. A device subscribes to this prefix and `+`."""
RPC_REQUESTS: Final = RPC_REQUEST + "+"
RPC_RESPONSE: Final = "v1/sensors/me/rpc/response/"
"""Device to platform: acknowledgement; the request id follows."""
RPC_RESULT: Final = "v1/sensors/me/rpc/result/"
"""Device to platform: result; the request id follows."""
