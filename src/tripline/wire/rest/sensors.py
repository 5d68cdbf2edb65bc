"""JSON of sensors: the fields of requests and records.

Follows spec/interface (Resources and fields), in its order, with the additions of spec/rest 8.5. Unset ids are the
placeholder, other unset values null. A carrier-linked device has three more fields, and its `additionalInfo` is an
object.
"""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from tripline.domain import fields
from tripline.domain.sensors import Sensor
from tripline.wire.described import about
from tripline.wire.rest import examples
from tripline.wire.rest.base import UNSET as UNSET_ID
from tripline.wire.rest.base import Id, record_of


class CarrierInfo(msgspec.Struct, kw_only=True):
    """`additionalInfo` of a carrier-linked device. The carrier writes all of it but `extra`; a request may repeat the
    rest."""

    extra: Annotated[str | UnsetType | None, about("anything else, at most 4096 characters", "cold store van")] = UNSET
    subscription: Annotated[str | UnsetType | None, about("code of the line's plan", "LTEM-100M")] = UNSET
    imsi: Annotated[str | UnsetType | None, about("IMSI of the SIM card", "450061234567890")] = UNSET
    iccid: Annotated[str | UnsetType | None, about("ICCID of the SIM card", "8982061234567890123")] = UNSET


class SensorRequest(msgspec.Struct, rename="camel", kw_only=True):
    """Registration of a sensor; in a change, the fields that change."""

    serial_no: Annotated[
        str | None,
        about(
            "serial number, unique in the service type, at most 255 characters; IMEI of a carrier-linked "
            "device; required",
            "SN-0001",
        ),
    ] = None
    credentials_id: Annotated[
        str | None,
        about(
            "access token of the device, its MQTT user name: exactly 20 printable ASCII characters, no "
            "blank, '/', '+' or '#', unique; required unless the device is carrier-linked",
            "ACE01abcdefghijklmno",
        ),
    ] = None
    vendor: Annotated[str | None, about("maker, at most 255 characters", "Ace Devices")] = None
    type: Annotated[str | None, about("kind of device: OBD2, ADAS, GPS, BLACKBOX or another word; required", "GPS")] = (
        None
    )
    activation_required: Annotated[
        bool | None, about("whether the device must be activated over RPC before it is mounted", False)
    ] = None
    mission_type: Annotated[str | None, about("transmission: AUTO or MANUAL", "AUTO")] = None
    additional_info: Annotated[
        str | CarrierInfo | None,
        about(
            "anything else, at most 4096 characters; of a carrier-linked device also an object with the "
            "text under `extra`",
            "spare box",
        ),
    ] = None


class SensorRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A sensor. `missionType` is present only when it was sent, `mdn` and `nwStatus` only for a carrier-linked
    device."""

    id: Annotated[Id, about("id of the sensor", examples.SENSOR)]
    created_time: Annotated[int, about("when it was registered, epoch ms", 1735689600000)]
    vehicle_id: Annotated[Id, about("vehicle that it is mounted on; placeholder: none", examples.NOTHING)]
    company_id: Annotated[Id, about("company that owns it", examples.COMPANY)]
    director_id: Annotated[Id, about("always the placeholder", examples.NOTHING)]
    status: Annotated[str, about("ACTIVATED while it is mounted on a vehicle, else DEACTIVATED", "DEACTIVATED")]
    vendor: Annotated[str | None, about("maker", "Ace Devices")]
    type: Annotated[str, about("kind of device", "GPS")]
    additional_info: Annotated[
        str | CarrierInfo | None, about("anything else; an object when the device is carrier-linked", "spare box")
    ]
    last_trip_msg_type: Annotated[
        str | None, about("MICROTRIP while driving, TRIP after a trip message, null before the first", "TRIP")
    ]
    activation_required: Annotated[
        bool, about("whether the device must be activated over RPC before it is mounted", False)
    ]
    vehicle_no: Annotated[str | None, about("number of the vehicle that it is mounted on", "12가3456")]
    serial_no: Annotated[str, about("serial number; IMEI of a carrier-linked device", "SN-0001")]
    credentials_id: Annotated[
        str | None,
        about(
            "access token of the device; null when a carrier-linked device has none, and for whoever only "
            "has the use of the vehicle that it is on",
            "ACE01abcdefghijklmno",
        ),
    ]
    mission_type: Annotated[str | UnsetType, about("transmission: AUTO or MANUAL; absent when not sent", "AUTO")]
    mdn: Annotated[
        str | UnsetType | None,
        about("telephone number of a carrier-linked device; null once its line has ended", "01212345678"),
    ]
    nw_status: Annotated[
        str | UnsetType,
        about(
            "line of a carrier-linked device: 00 not opened, 01 normal, 02 use suspended, 03 dormant, 04 "
            "suspended for termination, 05 ended by authority, 06 ended, 99 fault",
            "01",
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


def sensor_record(sensor: Sensor) -> SensorRecord:
    """The record."""
    line, info = sensor.line, sensor.additional_info
    return record_of(
        SensorRecord,
        sensor,
        director_id=UNSET_ID,
        additional_info=info if line is None else record_of(CarrierInfo, line, extra=info),
        mdn=UNSET if line is None else line.mdn,
        nw_status=UNSET if line is None else line.nw_status,
    )
