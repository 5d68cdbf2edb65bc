"""JSON of sensors: the fields of requests and records.

Follows spec/interface (Resources and fields), in its order, with the additions of spec/rest 8.5. Unset ids are the
placeholder, other unset values null. A carrier-linked device has three more fields, and its `additionalInfo` is an
object.

Not here: allowed values (`domain/`), reading a request (`bodies.py`), latest values (`latest_values.py`).
"""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tripline.domain import fields
from tripline.domain.lines import Line
from tripline.domain.sensors import Sensor
from tripline.wire.rest.base import Id, id_or_unset
from tripline.wire.rest.bodies import if_set


class CarrierInfo(msgspec.Struct, kw_only=True):
    """`additionalInfo` of a carrier-linked device. The carrier writes all of it but `extra`; a request may repeat the
    rest."""

    extra: Annotated[
        str | UnsetType | None,
        Meta(description="anything else, at most 4096 characters", examples=["cold store van"]),
    ] = UNSET
    subscription: Annotated[
        str | UnsetType | None, Meta(description="code of the line's plan", examples=["LTEM-100M"])
    ] = UNSET
    imsi: Annotated[str | UnsetType | None, Meta(description="IMSI of the SIM card", examples=["450061234567890"])] = (
        UNSET
    )
    iccid: Annotated[
        str | UnsetType | None, Meta(description="ICCID of the SIM card", examples=["8982061234567890123"])
    ] = UNSET


class SensorRequest(msgspec.Struct, rename="camel", kw_only=True):
    """Registration of a sensor; in a change, the fields that change."""

    serial_no: Annotated[
        str | None,
        Meta(
            description="serial number, unique in the service type, at most 255 characters; IMEI of a carrier-linked "
            "device; required",
            examples=["SN-0001"],
        ),
    ] = None
    credentials_id: Annotated[
        str | None,
        Meta(
            description="access token of the device, its MQTT user name: exactly 20 printable ASCII characters, no "
            "blank, '/', '+' or '#', unique; required unless the device is carrier-linked",
            examples=["ACE01abcdefghijklmno"],
        ),
    ] = None
    vendor: Annotated[str | None, Meta(description="maker, at most 255 characters", examples=["Ace Devices"])] = None
    type: Annotated[
        str | None,
        Meta(description="kind of device: OBD2, ADAS, GPS, BLACKBOX or another word; required", examples=["GPS"]),
    ] = None
    activation_required: Annotated[
        bool | None,
        Meta(description="whether the device must be activated over RPC before it is mounted", examples=[False]),
    ] = None
    mission_type: Annotated[str | None, Meta(description="transmission: AUTO or MANUAL", examples=["AUTO"])] = None
    additional_info: Annotated[
        str | CarrierInfo | None,
        Meta(
            description="anything else, at most 4096 characters; of a carrier-linked device also an object with the "
            "text under `extra`",
            examples=["spare box"],
        ),
    ] = None


class SensorRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A sensor. `missionType` is present only when it was sent, `mdn` and `nwStatus` only for a carrier-linked
    device."""

    id: Annotated[Id, Meta(description="id of the sensor", examples=[{"id": "0d8f4c50-c802-11ef-9d5c-6b1f6f2a4c11"}])]
    created_time: Annotated[int, Meta(description="when it was registered, epoch ms", examples=[1735689600000])]
    vehicle_id: Annotated[
        Id,
        Meta(
            description="vehicle that it is mounted on; placeholder: none",
            examples=[{"id": "13814000-1dd2-11b2-8080-808080808080"}],
        ),
    ]
    company_id: Annotated[
        Id, Meta(description="company that owns it", examples=[{"id": "b37c5a20-c801-11ef-9d5c-6b1f6f2a4c11"}])
    ]
    director_id: Annotated[
        Id,
        Meta(description="always the placeholder", examples=[{"id": "13814000-1dd2-11b2-8080-808080808080"}]),
    ]
    status: Annotated[
        str, Meta(description="ACTIVATED while it is mounted on a vehicle, else DEACTIVATED", examples=["DEACTIVATED"])
    ]
    vendor: Annotated[str | None, Meta(description="maker", examples=["Ace Devices"])]
    type: Annotated[str, Meta(description="kind of device", examples=["GPS"])]
    additional_info: Annotated[
        str | CarrierInfo | None,
        Meta(description="anything else; an object when the device is carrier-linked", examples=["spare box"]),
    ]
    last_trip_msg_type: Annotated[
        str | None,
        Meta(
            description="MICROTRIP while driving, TRIP after a trip message, null before the first", examples=["TRIP"]
        ),
    ]
    activation_required: Annotated[
        bool, Meta(description="whether the device must be activated over RPC before it is mounted", examples=[False])
    ]
    vehicle_no: Annotated[
        str | None, Meta(description="number of the vehicle that it is mounted on", examples=["12가3456"])
    ]
    serial_no: Annotated[str, Meta(description="serial number; IMEI of a carrier-linked device", examples=["SN-0001"])]
    credentials_id: Annotated[
        str | None,
        Meta(
            description="access token of the device; null when a carrier-linked device has none, and for whoever only "
            "has the use of the vehicle that it is on",
            examples=["ACE01abcdefghijklmno"],
        ),
    ]
    mission_type: Annotated[
        str | UnsetType, Meta(description="transmission: AUTO or MANUAL; absent when not sent", examples=["AUTO"])
    ]
    mdn: Annotated[
        str | UnsetType | None,
        Meta(
            description="telephone number of a carrier-linked device; null once its line has ended",
            examples=["01212345678"],
        ),
    ]
    nw_status: Annotated[
        str | UnsetType,
        Meta(
            description="line of a carrier-linked device: 00 not opened, 01 normal, 02 use suspended, 03 dormant, 04 "
            "suspended for termination, 05 ended by authority, 06 ended, 99 fault",
            examples=["01"],
        ),
    ]


def registration_fields(sent: dict[str, Any]) -> dict[str, Any]:
    """The sensor's fields in a request, by the names of the domain: `additionalInfo` as its text.

    An object without `extra` leaves the text unchanged.
    """
    info = sent.get("additional_info")
    if not isinstance(info, CarrierInfo):
        return sent
    others = {name: value for name, value in sent.items() if name != "additional_info"}
    return others if info.extra is UNSET else {**others, "additional_info": info.extra}


def require_carriers_own(info: object, sensor: Sensor) -> None:
    """Check that `additionalInfo` agrees with the line on record. Raises `fields.ReadOnly`."""
    if not isinstance(info, CarrierInfo):
        return
    for name in ("subscription", "imsi", "iccid"):
        sent, shown = getattr(info, name), None if sensor.line is None else getattr(sensor.line, name)
        if sent is not UNSET and (sent or None) != shown:
            raise fields.read_only(name, writer=fields.Writer.CARRIER)


def names_carrier(sent: SensorRequest) -> bool:
    """Return whether a registration is for a carrier-linked device, whose line the carrier opens later."""
    return isinstance(sent.additional_info, CarrierInfo)


def sensor_record(sensor: Sensor) -> SensorRecord:
    """The record."""
    return SensorRecord(
        id=Id(sensor.id),
        created_time=sensor.created_ms,
        vehicle_id=id_or_unset(sensor.vehicle_id),
        company_id=Id(sensor.company_id),
        director_id=id_or_unset(None),
        status=sensor.status,
        vendor=sensor.vendor,
        type=sensor.type,
        additional_info=sensor.additional_info if sensor.line is None else _carrier_info(sensor, sensor.line),
        last_trip_msg_type=sensor.last_trip_msg_type,
        activation_required=sensor.activation_required,
        vehicle_no=sensor.vehicle_no,
        serial_no=sensor.serial_no,
        credentials_id=sensor.credentials_id,
        mission_type=if_set(sensor.mission_type),
        mdn=UNSET if sensor.line is None else sensor.line.mdn,
        nw_status=UNSET if sensor.line is None else sensor.line.nw_status.value,
    )


def _carrier_info(sensor: Sensor, line: Line) -> CarrierInfo:
    return CarrierInfo(extra=sensor.additional_info, subscription=line.subscription, imsi=line.imsi, iccid=line.iccid)
