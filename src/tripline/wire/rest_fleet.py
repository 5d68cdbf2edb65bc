"""JSON of companies, vehicles, sensors and people: what requests carry and what records look like, field by field.

Follows the interface specification (Resources and fields), in its order, with the additions of client-surface 8.5.
Unknown fields of a request are ignored; a field of the wrong JSON type is refused by name. Unset ids are the
placeholder, other unset values null.

Not here: which values are allowed (`domain/`), trips (`rest_trips.py`).
"""

import re
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from tripline.domain.companies import Company, MessageTypes
from tripline.domain.people import User
from tripline.domain.refusals import BadParameter
from tripline.domain.sensors import Sensor
from tripline.domain.vehicles import Vehicle
from tripline.wire.rest import Id, id_or_unset

T = TypeVar("T", bound=msgspec.Struct)

_NEVER_TEXT: Final = frozenset({"mileage", "displacement", "activationRequired", "rpcNotifyPort"})
_PLACE: Final = re.compile(r"(.*?) - at `\$\.(\w+)", re.DOTALL)


class CompanyRequest(msgspec.Struct, rename="camel", kw_only=True):
    """Registration of an operator (notify*) or a partner (rpcNotify*)."""

    name: str | None = None
    region: str | None = None
    service_type: str | None = None
    pic_name: str | None = None
    pic_phone: str | None = None
    pic_email: str | None = None
    pic_passwd: str | None = None
    pic_division: str | None = None
    provider_manager_name: str | None = None
    provider_manager_email: str | None = None
    cooperation_task: str | None = None
    description: str | None = None
    notify_host: str | None = None
    notify_msg_type: MessageTypes | None = None
    rpc_notify_host: str | None = None
    rpc_notify_port: int | None = None
    rpc_notify_base_path: str | None = None


class VehicleRequest(msgspec.Struct, rename="camel", kw_only=True):
    """Registration of a vehicle."""

    vehicle_no: str | None = None
    vendor: str | None = None
    model_code: str | None = None
    model_name: str | None = None
    model_year: float | str | None = None
    mission_type: str | None = None
    fuel_type: str | None = None
    mileage: float | None = None
    category: str | None = None
    usage: str | None = None
    displacement: float | None = None
    additional_info: str | None = None


class SensorRequest(msgspec.Struct, rename="camel", kw_only=True):
    """Registration of a sensor."""

    serial_no: str | None = None
    credentials_id: str | None = None
    vendor: str | None = None
    type: str | None = None
    activation_required: bool | None = None
    mission_type: str | None = None
    additional_info: str | None = None


class PersonRequest(msgspec.Struct, rename="camel", kw_only=True):
    """Registration of a director or driver."""

    name: str | None = None
    email: str | None = None
    phone: str | None = None
    password: str | None = None


class CompanyRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A company. `picPasswd` is there in the answer to a registration alone, `tokenPrefix` in reads alone."""

    id: Id
    created_time: int
    name: str
    service_type: str
    master: bool
    master_id: Id
    pic_name: str
    pic_phone: str | None
    pic_email: str
    pic_passwd: str | UnsetType
    pic_division: str | None
    provider_manager_name: str | None
    provider_manager_email: str | None
    cooperation_task: str | None
    description: str | None
    region: str | None
    notify_host: str | UnsetType
    notify_msg_type: MessageTypes | UnsetType
    rpc_notify_host: str | UnsetType
    rpc_notify_port: int | UnsetType
    rpc_notify_base_path: str | UnsetType
    token_prefix: str | UnsetType


class VehicleRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A vehicle."""

    id: Id
    created_time: int
    company_id: Id
    director_id: Id
    current_driver_id: Id
    latest_trip_id: Id
    service_type: str
    vehicle_no: str
    model_name: str | None
    model_code: str | None
    vendor: str | None
    sensor_count: int
    status: str
    additional_info: str | None
    model_year: float | None
    usage: str | None
    category: str | None
    mission_type: str | None
    fuel_type: str | None
    displacement: float
    mileage: float
    delegate_user_count: int
    last_trip_msg_type: str | None


class SensorRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A sensor; `missionType` is there only when it was sent."""

    id: Id
    created_time: int
    vehicle_id: Id
    company_id: Id
    director_id: Id
    status: str
    vendor: str | None
    type: str
    additional_info: str | None
    last_trip_msg_type: str | None
    activation_required: bool
    vehicle_no: str | None
    serial_no: str
    credentials_id: str | None
    mission_type: str | UnsetType


class UserRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A director, driver or administrator; the password is never shown."""

    id: Id
    created_time: int
    company_id: Id
    name: str
    phone: str | None
    vehicle_id: Id | None
    latest_trip_id: Id
    email: str
    authority: str
    password: None
    additional_info: str | None
    password_updated_time: int


def read(body: dict[str, Any], request: type[T]) -> T:
    """The request in a JSON object. Raises `BadParameter` with the name of a field that has the wrong type.

    An empty text in place of a number or flag, which forms send for what nobody filled in, counts as not sent.
    """
    sent = {name: value for name, value in body.items() if value != "" or name not in _NEVER_TEXT}
    try:
        return msgspec.convert(sent, request)
    except msgspec.ValidationError as error:
        found = _PLACE.match(str(error))
        assert found is not None  # every error of a struct's field has a place
        raise BadParameter(f"Parameter '{found[2]}' has the wrong type: {found[1]}.") from error


def company_record(company: Company, *, password: str | None = None, with_prefix: bool = False) -> CompanyRecord:
    """The record; with the password that was just registered, or with the token prefix."""
    return CompanyRecord(
        id=Id(company.id),
        created_time=company.created_ms,
        name=company.name,
        service_type=company.service_type,
        master=company.master,
        master_id=Id(company.master_id),
        pic_name=company.pic_name,
        pic_phone=company.pic_phone,
        pic_email=company.pic_email,
        pic_passwd=_if_set(password),
        pic_division=company.pic_division,
        provider_manager_name=company.provider_manager_name,
        provider_manager_email=company.provider_manager_email,
        cooperation_task=company.cooperation_task,
        description=company.description,
        region=company.region,
        notify_host=_if_set(company.notify_host),
        notify_msg_type=_if_set(company.notify_msg_type),
        rpc_notify_host=_if_set(company.rpc_notify_host),
        rpc_notify_port=_if_set(company.rpc_notify_port),
        rpc_notify_base_path=_if_set(company.rpc_notify_base_path),
        token_prefix=company.token_prefix if with_prefix else UNSET,
    )


def vehicle_record(vehicle: Vehicle) -> VehicleRecord:
    """The record."""
    return VehicleRecord(
        id=Id(vehicle.id),
        created_time=vehicle.created_ms,
        company_id=Id(vehicle.company_id),
        director_id=id_or_unset(vehicle.director_id),
        current_driver_id=id_or_unset(vehicle.current_driver_id),
        latest_trip_id=id_or_unset(vehicle.latest_trip_id),
        service_type=vehicle.service_type,
        vehicle_no=vehicle.vehicle_no,
        model_name=vehicle.model_name,
        model_code=vehicle.model_code,
        vendor=vehicle.vendor,
        sensor_count=vehicle.sensor_count,
        status=vehicle.status,
        additional_info=vehicle.additional_info,
        model_year=None if vehicle.model_year is None else _number(vehicle.model_year),
        usage=vehicle.usage,
        category=vehicle.category,
        mission_type=vehicle.mission_type,
        fuel_type=vehicle.fuel_type,
        displacement=_number(vehicle.displacement),
        mileage=_number(vehicle.mileage),
        delegate_user_count=vehicle.delegate_user_count,
        last_trip_msg_type=vehicle.last_trip_msg_type,
    )


def sensor_record(sensor: Sensor) -> SensorRecord:
    """The record."""
    return SensorRecord(
        id=Id(sensor.id),
        created_time=sensor.created_ms,
        vehicle_id=id_or_unset(sensor.vehicle_id),
        company_id=Id(sensor.company_id),
        director_id=id_or_unset(sensor.director_id),
        status=sensor.status,
        vendor=sensor.vendor,
        type=sensor.type,
        additional_info=sensor.additional_info,
        last_trip_msg_type=sensor.last_trip_msg_type,
        activation_required=sensor.activation_required,
        vehicle_no=sensor.vehicle_no,
        serial_no=sensor.serial_no,
        credentials_id=sensor.credentials_id,
        mission_type=_if_set(sensor.mission_type),
    )


def user_record(user: User) -> UserRecord:
    """The record."""
    return UserRecord(
        id=Id(user.id),
        created_time=user.created_ms,
        company_id=id_or_unset(user.company_id),
        name=user.name,
        phone=user.phone,
        vehicle_id=None,
        latest_trip_id=id_or_unset(user.latest_trip_id),
        email=user.email,
        authority=user.authority,
        password=None,
        additional_info=user.additional_info,
        password_updated_time=user.password_updated_ms,
    )


def _if_set(value: Any) -> Any:
    """The value, or what leaves the key out of the answer."""
    return UNSET if value is None else value


def _number(value: float) -> float:
    """The number as it is usually sent: 2018, not 2018.0."""
    return int(value) if value == int(value) else value
