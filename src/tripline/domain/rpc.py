"""A call to a device: its states and transitions, and which of the device's answers count.

Follows spec/rpc 4.3 (codes), 5.3 (errors), 6.3 (activation) and 8 (rules R3 to R6). Every decision is a function of
values; sending and waiting are in `services/rpc/`, the bytes in `wire/rpc.py`, the rows in `store/rpc/calls.py`.
"""

from enum import Enum, StrEnum, auto
from typing import ClassVar, Final

import msgspec
from msgspec.structs import replace

from tripline.domain.ids import CompanyId, RequestId, RowNo, SensorId, UserId, VehicleId
from tripline.domain.refusals import BadParameter, Conflict, Kind, Refusal, TryLater

ACTIVATION: Final = "activationReq"
"""The method with which the platform itself asks a device to get ready for a vehicle (spec/rpc 3.1)."""


class State(StrEnum):
    """How far a call is; as published in its record (spec/rpc 7)."""

    REQUESTED = "REQUESTED"
    """Stored, and on its way to the device."""
    ACKED = "ACKED"
    """The device acknowledged it; the result may take any time."""
    DONE = "DONE"
    """The device reported success."""
    FAILED = "FAILED"
    """The device reported something else, or the platform ended the call."""
    TIMEOUT = "TIMEOUT"
    """No acknowledgement came in time. Later answers are still stored (R5)."""


class CallEvent(Enum):
    """An event that moves a call from state to state."""

    ACK = auto()
    SUCCESS = auto()
    """A result with a code of success."""
    FAILURE = auto()
    """A result with another code, or without one (B5)."""
    NO_ACK = auto()
    UNDELIVERABLE = auto()
    CANCEL = auto()


NEXT: Final = {
    (State.REQUESTED, CallEvent.ACK): State.ACKED,
    (State.REQUESTED, CallEvent.SUCCESS): State.DONE,  # R6
    (State.REQUESTED, CallEvent.FAILURE): State.FAILED,
    (State.REQUESTED, CallEvent.NO_ACK): State.TIMEOUT,
    (State.REQUESTED, CallEvent.UNDELIVERABLE): State.FAILED,
    (State.REQUESTED, CallEvent.CANCEL): State.FAILED,
    (State.ACKED, CallEvent.SUCCESS): State.DONE,
    (State.ACKED, CallEvent.FAILURE): State.FAILED,
    (State.ACKED, CallEvent.CANCEL): State.FAILED,
    (State.TIMEOUT, CallEvent.ACK): State.TIMEOUT,  # R5
    (State.TIMEOUT, CallEvent.SUCCESS): State.DONE,
    (State.TIMEOUT, CallEvent.FAILURE): State.FAILED,
    (State.DONE, CallEvent.ACK): State.DONE,  # R6: the result overtook it
    (State.FAILED, CallEvent.ACK): State.FAILED,
    (State.FAILED, CallEvent.SUCCESS): State.DONE,  # R4: the platform ended it, or its result had no code
    (State.FAILED, CallEvent.FAILURE): State.FAILED,
}
"""All transitions; a missing pair changes nothing. `concluded` decides whether a result counts."""

PLATFORM_CODES: Final = {CallEvent.NO_ACK: 5001, CallEvent.UNDELIVERABLE: 5002, CallEvent.CANCEL: 5003}
"""Result codes of the platform's own, never put into a device's body (spec/rpc 4.3)."""


class NotConnected(Conflict):
    """The device has no live session."""

    code: ClassVar[str] = "rpc.not_connected"


class NotSubscribed(Conflict):
    """The device has a session but is not subscribed to the request topic."""

    code: ClassVar[str] = "rpc.not_subscribed"


class Congested(Conflict):
    """The device does not read earlier messages."""

    code: ClassVar[str] = "rpc.congested"


class NoAck(Refusal):
    """The device did not acknowledge the call in time."""

    code: ClassVar[str] = "rpc.no_ack"
    kind: ClassVar[Kind] = Kind.TIMEOUT


class Cancelled(Conflict):
    """The call ended before its answer: the sensor was deleted, or taken off."""

    code: ClassVar[str] = "rpc.cancelled"


class ActivationRefused(Conflict):
    """The device refused the activation."""

    code: ClassVar[str] = "rpc.activation_refused"


class VehicleIncomplete(BadParameter):
    """The vehicle lacks a field that the activation of a device must carry: its fuel or its transmission."""

    code = "rpc.vehicle_incomplete"


class TooManyCalls(TryLater):
    """Too many calls wait for their devices."""

    code = "rpc.too_many"


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a call that decisions need. The exact bytes stay in its row."""

    no: RowNo
    id: RequestId
    sensor_id: SensorId
    company_id: CompanyId
    """Owner of the sensor when it was called."""
    vehicle_id: VehicleId | None
    """The sensor's vehicle; for an activation, the vehicle that it is to be mounted on."""
    user_id: UserId | None
    activation: bool
    method: str
    state: State
    deadline_ms: int
    """The deadline of the acknowledgement."""
    response_ms: int | None = None
    response_code: int | None = None
    result_ms: int | None = None
    """When the device's result that counts arrived; None: the platform ended the call, or it has not ended."""
    result_code: int | None = None
    """The device's code, or one of `PLATFORM_CODES`."""


class StoredCall(msgspec.Struct, frozen=True, kw_only=True):
    """A stored call, with the exact bytes of request and answers."""

    no: RowNo
    id: RequestId
    sensor_id: SensorId
    vehicle_id: VehicleId | None
    method: str
    params: bytes
    """JSON, as forwarded."""
    state: State
    response: bytes | None
    """The acknowledgement, as sent."""
    response_ms: int | None
    result: bytes | None
    """The result, as sent."""
    result_ms: int | None
    result_code: int | None


def activation_fields(*, fuel_type: str | None, mission_type: str | None) -> tuple[str, str]:
    """Return fuel and transmission, which `activationReq` requires (spec/rpc 3.1). Raises `VehicleIncomplete`."""
    if fuel_type and mission_type:
        return fuel_type, mission_type
    if fuel_type or mission_type:
        raise VehicleIncomplete("one", field="missionType" if fuel_type else "fuelType")
    raise VehicleIncomplete("both")


def is_success(code: int | None) -> bool:
    """Return whether a code means success (spec/rpc 4.3)."""
    return code is not None and 2000 <= code <= 2999


def acknowledged(call: Call, *, code: int | None, at_ms: int) -> Call | None:
    """The call with this acknowledgement; None when it already has one: the first wins (R3)."""
    if call.response_ms is not None:
        return None
    return replace(call, state=NEXT[call.state, CallEvent.ACK], response_ms=at_ms, response_code=code)


def concluded(call: Call, *, code: int | None, at_ms: int) -> Call | None:
    """The call with this result; None when another one counts: the first with a usable code wins (R4)."""
    if call.result_ms is not None and (call.result_code is not None or code is None):
        return None
    event = CallEvent.SUCCESS if is_success(code) else CallEvent.FAILURE
    return replace(call, state=NEXT[call.state, event], result_ms=at_ms, result_code=code)


def ended(call: Call, event: CallEvent) -> Call | None:
    """The call after the platform ended it; None when a device's answer came first."""
    after = NEXT.get((call.state, event))
    return None if after is None else replace(call, state=after, result_code=PLATFORM_CODES[event])
