"""A part of the AsyncAPI document: channels with the one operation on each.

Not here: which there are (`asyncapi_devices.py`, `asyncapi_customers.py`).
"""

from typing import Any

from tripline.api.documents.openapi_schemas import Schema


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
