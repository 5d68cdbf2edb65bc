"""The part of the AsyncAPI document about devices: their messages, and calls to them."""

from typing import Any, Final

from tripline.api.documents.asyncapi_schemas import Part, Schemas, example, payload_example
from tripline.api.documents.openapi_schemas import Schema
from tripline.wire import shapes, topics
from tripline.wire.device import meanings as device_meanings
from tripline.wire.device import tables as device_tables

MSGPACK: Final = "application/msgpack"
_TOPICS_OF_EVENTS: Final = {"telemetry": (101, 102, 103), "attributes": (104, 105, 106)}
"""Channel -> events that come on it without header, from older programs."""
_MQTT: Final = {"mqtt": {"qos": 1, "retain": False, "bindingVersion": "0.2.0"}}


def published(schemas: Schemas) -> Part:
    """Topics that devices publish to."""
    part = Part("devices", "devices")
    every = _with_header(schemas)
    received: dict[str, Any] = {"action": "receive", "bindings": _MQTT}
    part.add(
        "tre",
        topics.TRE,
        "Trips, microtrips, events",
        "A device publishes a message: a header, and the payload under `pld`. Microtrips while driving, one or many "
        "samples in a message; a trip when driving has ended; events as they happen.",
        every,
        operation="receiveMessage",
        **received,
    )
    packed = {
        "title": "The same, packed",
        "summary": "One MessagePack map with the same keys.",
        "contentType": MSGPACK,
        "payload": {"anyOf": [message["payload"] for message in every.values()]},
    }
    part.add(
        "treMessagePack",
        topics.TRE_MSGPACK,
        "The same as MessagePack",
        "A device publishes the object of the other topic as one MessagePack map. JSON is read as well.",
        {"packed": packed},
        operation="receivePacked",
        **received,
    )
    for name, address in (("telemetry", topics.TELEMETRY), ("attributes", topics.ATTRIBUTES)):
        part.add(
            name,
            address,
            f"Events without header ({name})",
            "A device publishes the payload alone; its keys say which event it is. For programs in use; new ones send "
            "the header.",
            {**_headerless(_TOPICS_OF_EVENTS[name], schemas), "values": _VALUES},
            operation=f"receive{name.capitalize()}",
            **received,
        )
    return part


_VALUES: Final = {
    "title": "Latest values",
    "summary": "An object other than a known event becomes the sensor's latest values.",
    "payload": {"type": "object"},
    "examples": [{"payload": {"cm": "01"}}],
}


def _with_header(schemas: Schemas) -> dict[str, Schema]:
    """Every message with a header, and events with undocumented numbers."""
    other = {
        "title": "Event of another number",
        "summary": "Kept as sent, without interpretation.",
        "payload": schemas.of_other_events(),
        "examples": [{"payload": {"ty": 130, "ts": 1735691400000, "pld": {"a": 1}}}],
    }
    numbers = sorted(device_tables.TABLES)
    return {**{f"message{number}": _device_message(number, schemas) for number in numbers}, "otherEvent": other}


def _device_message(number: int, schemas: Schemas) -> Schema:
    return {
        "name": f"ty {number}",
        "title": device_meanings.TITLES[number],
        "payload": schemas.of_message(number),
        "examples": [{"payload": example(number)}],
    }


def _headerless(numbers: tuple[int, ...], schemas: Schemas) -> dict[str, Schema]:
    return {
        f"payload{number}": {
            "title": device_meanings.TITLES[number],
            "payload": schemas.of_payload(number),
            "examples": [{"payload": payload_example(number)}],
        }
        for number in numbers
    }


def calls(schemas: Schemas) -> Part:
    """Topics of calls to devices and of their answers."""
    part = Part("calls", "devices")
    _add_requests(part, schemas)
    for channel, message, title, text, shown in _ANSWERS:
        part.add(
            channel,
            shapes.RPC_TOPICS[channel],
            title,
            f"{text}. A body that is no JSON object, or has no code, is an answer too, kept as it came.",
            {
                message: {
                    "title": title,
                    "payload": schemas.of_struct(shapes.RpcAnswer),
                    "examples": [{"payload": shown}],
                }
            },
            action="receive",
            operation=f"receive{title}",
            bindings=_MQTT,
            channel=_WITH_ID,
        )
    return part


def _add_requests(part: Part, schemas: Schemas) -> None:
    methods = "\n".join(f"- `{name}`: {text}" for name, text in shapes.METHODS.items())
    activation = {
        "type": "object",
        "required": ["method", "params"],
        "properties": {"method": {"const": "activationReq"}, "params": schemas.of_struct(shapes.Activation)},
    }
    part.add(
        "rpcRequest",
        shapes.RPC_TOPICS["rpcRequest"],
        "Calls to a device",
        f"Tripline calls the device. It subscribes to `{topics.RPC_REQUESTS}`; no other filter is granted to it.",
        {
            "request": {
                "title": "Call",
                "description": f"Documented methods; any other is forwarded as well:\n\n{methods}",
                "payload": schemas.of_struct(shapes.RpcRequest),
                "examples": [{"payload": {"method": "reset", "params": {}}}],
            },
            "activation": {
                "title": "Activation",
                "description": "Sent when a sensor with `activationRequired` is put on a vehicle.",
                "payload": activation,
                "examples": [{"payload": {"method": "activationReq", "params": _ACTIVATION}}],
            },
        },
        action="send",
        operation="call",
        bindings=_MQTT,
        channel=_WITH_ID,
        reply={
            "channel": {"$ref": "#/channels/rpcResponse"},
            "messages": [{"$ref": "#/channels/rpcResponse/messages/acknowledgement"}],
        },
    )


_WITH_ID: Final = {
    "parameters": {
        shapes.REQUEST_ID: {"description": "Id of the call: a UUID of 36 characters, one level of the topic."}
    }
}
_ANSWERS: Final[tuple[tuple[str, str, str, str, dict[str, Any]], ...]] = (
    ("rpcResponse", "acknowledgement", "Acknowledgements", "The device says that the call has come", {"result": 2000}),
    (
        "rpcResult",
        "result",
        "Results",
        "The device says what came of the call, at any time, also without an acknowledgement",
        {"result": 2000, "addInfo": {"vid": "12A3456"}},
    ),
)
"""Channel, message, title, description, and an example."""
_ACTIVATION: Final = {"vid": "12A3456", "upp": 2, "elt": 1998, "fut": 1, "mty": "Automatic"}
