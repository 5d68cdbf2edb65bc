"""Schemas and examples outside REST: device messages from their tables, all others from their structs.

A device may write a number as text and a text as a number, may omit any key and add others: the schemas allow all
input that Tripline accepts, and mark the keys that the interface requires (`x-mandatory`).
"""

from typing import Any, Final

import msgspec

from tripline.api.documents.openapi_schemas import REFS, Schema
from tripline.config import Devices
from tripline.wire.device import meanings as device_meanings
from tripline.wire.device import tables as device_tables

MANOEUVRES: Final = "em"
_NUMBER: Final = ["number", "string", "null"]
_TEXT: Final = ["string", "number", "boolean", "null"]
_NUMBERS_OF_OLD: Final = (*range(20, 27), *map(str, range(20, 27)))
"""K3: events before they had three digits."""
_TOP_OF_OPEN: Final = {
    "ts": {
        "description": "time of collection at the device, epoch ms; when it is missing, the time of receipt counts",
        "type": _NUMBER,
        "examples": [1735689606000],
    }
}


class Part:
    """Channels and operations of one tag."""

    def __init__(self, tag: str, server: str) -> None:
        self.channels: dict[str, Schema] = {}
        self.operations: dict[str, Schema] = {}
        self._tag = tag
        self._server = server

    def add(
        self,
        name: str,
        address: str | None,
        title: str,
        text: str,
        messages: dict[str, Schema],
        *,
        action: str,
        operation: str,
        bindings: Schema,
        channel: Schema | None = None,
        **more: Any,
    ) -> None:
        """A channel and the one operation on it."""
        self.channels[name] = {
            "address": address,
            "title": title,
            "description": text,
            "servers": [{"$ref": f"#/servers/{self._server}"}],
            "messages": messages,
            "tags": [{"name": self._tag}],
            **(channel or {}),
        }
        self.operations[operation] = {
            "action": action,
            "channel": {"$ref": f"#/channels/{name}"},
            "title": title,
            "summary": text.partition(". ")[0].removesuffix("."),
            "messages": [{"$ref": f"#/channels/{name}/messages/{message}"} for message in messages],
            "tags": [{"name": self._tag}],
            "bindings": bindings,
            **more,
        }


class Schemas:
    """The schemas of a document, each under its name."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}

    def of_struct(self, struct: type[msgspec.Struct]) -> Schema:
        """A reference to the schema of the struct, which is put into the components with all it is made of."""
        (schema,), components = msgspec.json.schema_components((struct,), ref_template=REFS)
        for name, component in components.items():
            component.pop("title", None)
            for field in component.get("properties", {}).values():
                field.pop("default", None)
            self.components[name] = component
        return schema

    def of_message(self, number: int) -> Schema:
        """A reference to the schema of the device message with this number: header and payload."""
        name = f"DeviceMessage{number}"
        self.components[name] = _message(
            device_meanings.TITLES[number],
            {
                "description": f"message number; {number} as a number or as text",
                "enum": [number, str(number)],
                "examples": [number],
            },
            self.of_payload(number),
        )
        return _ref(name)

    def of_payload(self, number: int) -> Schema:
        """A reference to the schema of the payload of the device message with this number."""
        name = f"DevicePayload{number}"
        self.components[name] = {
            "description": f"{device_meanings.TITLES[number]}: the payload. Keys that are not listed are kept as sent.",
            "type": "object",
            "properties": {key: _key(number, key) for key in device_meanings.keys(number)},
        }
        return _ref(name)

    def of_other_events(self) -> Schema:
        """A reference to the schema of events whose number is in no table: kept without interpretation."""
        known = sorted(device_tables.TABLES)
        spelled = [str(number) for number in known]
        number = {
            "anyOf": [
                {"type": "integer", "minimum": 100, "maximum": 2**31 - 1, "not": {"enum": known}},
                {"type": "string", "pattern": "^[0-9]{3,9}$", "not": {"enum": spelled}},
                {"enum": list(_NUMBERS_OF_OLD)},
            ],
            "description": "any number from 100 on that is in no table, or 20 to 26, which are 101 to 107 of old",
            "examples": [130],
        }
        name = "OtherEvent"
        self.components[name] = _message("Event of another number", number, {"type": "object"})
        return _ref(name)


def example(number: int) -> dict[str, Any]:
    """A message of this number as a device would send it: its mandatory keys, or all when none is."""
    return {"ty": number, "ts": 1735691400000, "pld": payload_example(number)}


def payload_example(number: int) -> dict[str, Any]:
    """Its payload."""
    mandatory = device_tables.MANDATORY[number]
    keys = [key for key in device_meanings.keys(number) if key in mandatory or not mandatory]
    return {key: msgspec.json.decode(device_meanings.meaning(number, key).example) for key in keys}


def _message(title: str, number: Schema, payload: Schema) -> Schema:
    return {
        "description": f"{title}: header and payload.",
        "type": "object",
        "required": ["ty", "pld"],
        "properties": {
            "ty": number,
            **_TOP_OF_OPEN,
            "pld": {
                "description": "the payload; an array in time order is one record of several samples (microtrips), or "
                "as many messages with the same header (trips, events)",
                "anyOf": [payload, {"type": "array", "items": payload, "maxItems": Devices().max_items}],
            },
        },
    }


def _key(number: int, key: str) -> Schema:
    kinds = device_tables.kinds_of(number, "") | device_tables.AVN_EVENT
    return {
        "description": device_meanings.meaning(number, key).text,
        "type": ["string", "integer", "null"] if key == MANOEUVRES else _NUMBER if kinds[key] else _TEXT,
        "examples": [msgspec.json.decode(device_meanings.meaning(number, key).example)],
        "x-mandatory": key in device_tables.MANDATORY[number],
    }


def _ref(name: str) -> Schema:
    return {"$ref": REFS.format(name=name)}
