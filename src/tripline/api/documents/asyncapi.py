"""The AsyncAPI 3.0 document: the device channel, pushes to customers' servers, and the topics of the customers' bus.

It is made from the definitions that the program itself uses: topics and structs of `wire/`, the tables of device
messages, the names of pushes. `send` and `receive` are from Tripline's point of view.
"""

from functools import cache
from importlib import metadata
from typing import Any, Final

import msgspec

from tripline.api.documents import asyncapi_customers, asyncapi_devices
from tripline.api.documents.asyncapi_customers import BUS_NOTE
from tripline.api.documents.asyncapi_schemas import Schemas
from tripline.api.documents.openapi_schemas import Schema
from tripline.config import Config, Devices, Rpc
from tripline.http import static_files
from tripline.http.operations import JSON

INTRODUCTION: Final = f"""\
What goes on beside REST: devices connect and publish, are called and answer; messages are pushed to customers' servers.

**Devices** connect by MQTT 3.1.1 over TLS. The user name is the sensor's `credentialsId`; there is no password. `me` in
a topic is a literal: the sensor is the one whose connection it is. A publish at QoS 1 or 2 is acknowledged when it is
stored. What cannot be used is acknowledged as well, kept with its reason and counted. A second connection with the same
user name ends the first. One publish has at most {Devices().max_packet} bytes and {Devices().max_items} samples.

**Calls** come on a topic that a device subscribes to; it acknowledges within {Rpc().ack_s:.0f} seconds, and says later
what came of it.

**Pushes** are HTTP requests to the address that a company has set. They are signed, come in order for each sensor, and
come again with the same `webhook-id` until a 2xx answers them.

**The bus** is described as published. {BUS_NOTE}
"""


@cache
def published() -> static_files.File:
    """The document as JSON."""
    return static_files.made(msgspec.json.encode(document()), f"{JSON};charset=UTF-8")


def document() -> dict[str, Any]:
    """The whole document."""
    schemas = Schemas()
    parts = [
        asyncapi_devices.published(schemas),
        asyncapi_devices.calls(schemas),
        asyncapi_customers.pushed(schemas),
        asyncapi_customers.on_bus(schemas),
    ]
    channels: dict[str, Schema] = {}
    operations: dict[str, Schema] = {}
    for part in parts:
        channels |= part.channels
        operations |= part.operations
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Tripline: devices, pushes, bus",
            "version": metadata.version("tripline"),
            "description": INTRODUCTION,
            "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        },
        "defaultContentType": JSON,
        "servers": _servers(),
        "channels": channels,
        "operations": operations,
        "components": {
            "schemas": dict(sorted(schemas.components.items())),
            "securitySchemes": {
                "deviceToken": {
                    "type": "userPassword",
                    "description": "User name: the sensor's `credentialsId`, 20 characters. Password: none; one that "
                    "is sent is ignored. Unknown: CONNACK 5. Empty: CONNACK 4.",
                }
            },
        },
    }


_TAGS: Final = {
    "devices": "What devices publish.",
    "calls": "Calls to devices (RPC), their acknowledgements and results.",
    "pushes": "Requests to customers' servers.",
    "bus": f"Messages on a customer's bus. {BUS_NOTE}",
}


def _servers() -> dict[str, Schema]:
    ports = Config()
    return {
        "devices": {
            "host": "{host}:{port}",
            "protocol": "secure-mqtt",
            "protocolVersion": "3.1.1",
            "title": "The device listener",
            "description": "MQTT over TLS. `ready` on the server's standard output names host, port and authority.",
            "variables": {
                "host": {"default": ports.host, "description": "setting `host`"},
                "port": {"default": str(ports.device_port), "description": "setting `device_port`"},
            },
            "security": [{"$ref": "#/components/securitySchemes/deviceToken"}],
            "bindings": {"mqtt": {"cleanSession": True, "keepAlive": 60, "bindingVersion": "0.2.0"}},
        },
        "customer": {
            "host": "{notifyHost}",
            "protocol": "https",
            "title": "A customer's server",
            "description": "What a company has set as `notifyHost` or `rpcNotifyHost`; plain HTTP as well.",
            "variables": {"notifyHost": {"default": "customer.example", "description": "of the company's record"}},
        },
        "bus": {
            "host": "{brokers}",
            "protocol": "kafka",
            "title": "The bus",
            "description": BUS_NOTE,
            "variables": {"brokers": {"default": "127.0.0.1:9092", "description": "setting `bus.url`"}},
        },
    }
