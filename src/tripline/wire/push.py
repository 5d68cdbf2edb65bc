"""JSON of messages to customers' servers: one envelope for all that go to `notifyHost` (push 4.2).

Ids are bare UUID texts; a vehicle that is not set is the placeholder. Not here: who gets one (`domain/pushes.py`).
"""

import msgspec
from msgspec import UNSET, UnsetType

from tripline.domain import ids
from tripline.domain.ids import CompanyId, SensorId, VehicleId


class Notice(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A message; `msg_ty` is there for what a device sent with a number, `request_id` for results of RPC."""

    master_company_id: CompanyId
    company_id: CompanyId
    sensor_id: SensorId
    vehicle_id: str
    ts: int
    ty: str
    msg_ty: int | UnsetType = UNSET
    request_id: str | UnsetType = UNSET
    pld: msgspec.Raw


class NetworkStatus(msgspec.Struct, frozen=True, rename="camel"):
    """What a NWSTATUS message says."""

    nw_status: str


def payload(value: msgspec.Struct) -> msgspec.Raw:
    """What goes into `pld`; a payload kept as JSON bytes goes in as `msgspec.Raw` of them."""
    return msgspec.Raw(msgspec.json.encode(value))


def vehicle_or_unset(vehicle_id: VehicleId | None) -> str:
    """The vehicle's id, or the placeholder."""
    return vehicle_id or ids.PLACEHOLDER


def body(notice: Notice) -> bytes:
    """The request's body."""
    return msgspec.json.encode(notice)
