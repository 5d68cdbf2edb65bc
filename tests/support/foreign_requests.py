"""Requests to a foreign device, as it finds them in the topic and in the body."""

import json
from dataclasses import dataclass
from typing import Any

REQUESTS = "v1/sensors/me/rpc/request/+"
PREFIX = REQUESTS[:-1]
LIMIT_S = 30


@dataclass(frozen=True)
class Request:
    """One request: where it came, and its bytes."""

    topic: str
    body: bytes

    @property
    def id(self) -> str:
        """Its id, as JavaScript programs take it: the sixth level of the topic."""
        return self.topic.split("/")[5]

    @property
    def call(self) -> dict[str, Any]:
        """What is asked for."""
        asked: dict[str, Any] = json.loads(self.body)
        return asked

    @property
    def acknowledgement(self) -> str:
        """Where the acknowledgement goes."""
        return f"v1/sensors/me/rpc/response/{self.id}"

    @property
    def result(self) -> str:
        """Where the result goes."""
        return f"v1/sensors/me/rpc/result/{self.id}"
