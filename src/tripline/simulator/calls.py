"""Answers of simulated devices to calls: like published clients, refused, or none (spec/rpc 4.2)."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

RESULT_AFTER_S: Final = 2.0
"""The JavaScript simulator's pause between ack and result (spec/rpc 1)."""
_KNOWN_TO_SDK: Final = frozenset({"activationReq", "fwupdate", "fwupchunk", "reset", "serial", "cleardata"})


class Reply(msgspec.Struct, frozen=True):
    """One answer. `is_result` selects the topic."""

    is_result: bool
    body: bytes
    after_s: float = 0.0


class _Call(msgspec.Struct, frozen=True):
    method: str
    params: Any

    def told(self) -> dict[str, Any]:
        """Further content of a result: the vehicle of an activation, the requested serial number."""
        if self.method == "activationReq" and isinstance(self.params, dict):
            return {"vid": self.params.get("vid")}
        return {"sn": "SIM-0001"} if self.method == "serial" else {}


def _script(_: _Call) -> list[tuple[bool, Any, float]]:
    return [(False, {"results": 2000}, 0), (True, {"results": 2000, "additionalInfo": {}}, RESULT_AFTER_S)]


def _sdk(call: _Call) -> list[tuple[bool, Any, float]]:
    if call.method not in _KNOWN_TO_SDK:
        return []
    return [(False, {"result": 2000}, 0), (True, {"results": 2000, "additionalInfo": call.told()}, 0)]


def _documented(call: _Call) -> list[tuple[bool, Any, float]]:
    return [(False, {"result": "2001"}, 0), (True, {"result": 2000, "addInfo": call.told()}, 0)]


def _overtaking(call: _Call) -> list[tuple[bool, Any, float]]:
    ack, result = _documented(call)
    return [result, ack]


MANNERS: Final[dict[str, Callable[[_Call], list[tuple[bool, Any, float]]]]] = {
    "script": _script,
    "sdk": _sdk,
    "documented": _documented,
    "overtaking": _overtaking,
    "result-only": lambda call: _documented(call)[1:],
    "ack-only": lambda _: [(False, {"results": 2000}, 0)],
    "refusing": lambda _: [(False, {"results": 4000}, 0)],
    "failing": lambda _: [(False, {"results": 2000}, 0), (True, {"results": 4002}, 0)],
    "silent": lambda _: [],
}
"""Name of the manner -> (true for a result, body, seconds to wait) for each answer, in order."""


def replies(manner: str, request: bytes) -> list[Reply]:
    """The answers of a device of this manner to the request's body; empty if it is unreadable."""
    try:
        wanted = msgspec.json.decode(request)
    except msgspec.DecodeError:
        return []
    if not isinstance(wanted, dict) or not isinstance(wanted.get("method"), str):
        return []
    call = _Call(wanted["method"], wanted.get("params"))
    return [Reply(is_result, msgspec.json.encode(body), after_s) for is_result, body, after_s in MANNERS[manner](call)]
