"""JSON of vehicles: the fields of requests and records.

Follows spec/interface (Resources and fields), in its order, with the additions of spec/rest 8.5. Unset ids are the
placeholder, other unset values null.
"""

from typing import Annotated

import msgspec

from tripline.domain.vehicles import Vehicle
from tripline.wire.described import about
from tripline.wire.rest import examples
from tripline.wire.rest.base import Id, record_of
from tripline.wire.rest.bodies import number


class VehicleRequest(msgspec.Struct, rename="camel", kw_only=True):
    """Registration of a vehicle; in a change, the fields that change."""

    vehicle_no: Annotated[
        str | None,
        about("vehicle registration number, unique in the service type; required, at most 255 characters", "12가3456"),
    ] = None
    vendor: Annotated[str | None, about("maker, at most 255 characters", "Hyundai")] = None
    model_code: Annotated[str | None, about("code of the model, at most 255 characters", "NF-2018")] = None
    model_name: Annotated[str | None, about("name of the model, at most 255 characters", "Sonata")] = None
    model_year: Annotated[
        float | str | None, about("manufacturing year, 1900 to 2100, as a number or numeric text", 2018)
    ] = None
    mission_type: Annotated[str | None, about("transmission: AUTO or MANUAL", "AUTO")] = None
    fuel_type: Annotated[str | None, about("fuel: DIESEL, GASOLINE or LPG", "GASOLINE")] = None
    mileage: Annotated[
        float | None, about("total distance driven, km; required, more than 0, at most 100,000,000", 12000)
    ] = None
    category: Annotated[str | None, about("TRUCK, BUS, TAXI, PERSONAL or ETC", "TAXI")] = None
    usage: Annotated[str | None, about("purpose of use, at most 255 characters", "delivery")] = None
    displacement: Annotated[
        float | None, about("engine displacement, cc, at most 1,000,000; 0 when not sent", 1998)
    ] = None
    additional_info: Annotated[str | None, about("anything else, at most 4096 characters", "winter tyres")] = None


class VehicleRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A vehicle."""

    id: Annotated[Id, about("id of the vehicle", examples.VEHICLE)]
    created_time: Annotated[int, about("when it was registered, epoch ms", 1735689600000)]
    company_id: Annotated[Id, about("company that owns it", examples.COMPANY)]
    director_id: Annotated[Id, about("managing director; the placeholder for none", examples.PERSON)]
    current_driver_id: Annotated[Id, about("who drives it now; the placeholder for nobody", examples.NOTHING)]
    latest_trip_id: Annotated[Id, about("its newest trip; the placeholder before the first", examples.NOTHING)]
    service_type: Annotated[str, about("service type of the company", "ace")]
    vehicle_no: Annotated[str, about("vehicle registration number", "12가3456")]
    model_name: Annotated[str | None, about("name of the model", "Sonata")]
    model_code: Annotated[str | None, about("code of the model", "NF-2018")]
    vendor: Annotated[str | None, about("maker", "Hyundai")]
    sensor_count: Annotated[int, about("number of sensors mounted on it", 1)]
    status: Annotated[str, about("ACTIVATED or DEACTIVATED: whether drivers may drive it", "DEACTIVATED")]
    additional_info: Annotated[str | None, about("anything else", "winter tyres")]
    model_year: Annotated[float | None, about("manufacturing year", 2018)]
    usage: Annotated[str | None, about("purpose of use", "delivery")]
    category: Annotated[str | None, about("TRUCK, BUS, TAXI, PERSONAL or ETC", "TAXI")]
    mission_type: Annotated[str | None, about("transmission: AUTO or MANUAL", "AUTO")]
    fuel_type: Annotated[str | None, about("fuel: DIESEL, GASOLINE or LPG", "GASOLINE")]
    displacement: Annotated[float, about("engine displacement, cc; 0 when not sent", 1998)]
    mileage: Annotated[float, about("total distance driven, km", 12000)]
    delegate_user_count: Annotated[int, about("number of rights that directors and drivers have on it", 0)]
    last_trip_msg_type: Annotated[
        str | None, about("MICROTRIP while driving, TRIP after a trip message; null before the first", "MICROTRIP")
    ]


def vehicle_record(vehicle: Vehicle) -> VehicleRecord:
    """The record."""
    return record_of(
        VehicleRecord,
        vehicle,
        model_year=None if vehicle.model_year is None else number(vehicle.model_year),
        displacement=number(vehicle.displacement),
        mileage=number(vehicle.mileage),
    )
