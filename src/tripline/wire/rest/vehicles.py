"""JSON of vehicles: the fields of requests and records.

Follows spec/interface (Resources and fields), in its order, with the additions of spec/rest 8.5. Unset ids are the
placeholder, other unset values null. Not here: allowed values (`domain/`), reading a request (`bodies.py`).
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from tripline.domain.vehicles import Vehicle
from tripline.wire.rest.base import Id, id_or_unset
from tripline.wire.rest.bodies import number


class VehicleRequest(msgspec.Struct, rename="camel", kw_only=True):
    """Registration of a vehicle; in a change, the fields that change."""

    vehicle_no: Annotated[
        str | None,
        Meta(
            description="vehicle registration number, unique in the service type; required, at most 255 characters",
            examples=["12가3456"],
        ),
    ] = None
    vendor: Annotated[str | None, Meta(description="maker, at most 255 characters", examples=["Hyundai"])] = None
    model_code: Annotated[
        str | None, Meta(description="code of the model, at most 255 characters", examples=["NF-2018"])
    ] = None
    model_name: Annotated[
        str | None, Meta(description="name of the model, at most 255 characters", examples=["Sonata"])
    ] = None
    model_year: Annotated[
        float | str | None,
        Meta(description="manufacturing year, 1900 to 2100, as a number or numeric text", examples=[2018]),
    ] = None
    mission_type: Annotated[str | None, Meta(description="transmission: AUTO or MANUAL", examples=["AUTO"])] = None
    fuel_type: Annotated[str | None, Meta(description="fuel: DIESEL, GASOLINE or LPG", examples=["GASOLINE"])] = None
    mileage: Annotated[
        float | None,
        Meta(description="total distance driven, km; required, more than 0, at most 100,000,000", examples=[12000]),
    ] = None
    category: Annotated[str | None, Meta(description="TRUCK, BUS, TAXI, PERSONAL or ETC", examples=["TAXI"])] = None
    usage: Annotated[str | None, Meta(description="purpose of use, at most 255 characters", examples=["delivery"])] = (
        None
    )
    displacement: Annotated[
        float | None, Meta(description="engine displacement, cc, at most 1,000,000; 0 when not sent", examples=[1998])
    ] = None
    additional_info: Annotated[
        str | None, Meta(description="anything else, at most 4096 characters", examples=["winter tyres"])
    ] = None


class VehicleRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A vehicle."""

    id: Annotated[Id, Meta(description="id of the vehicle", examples=[{"id": "d6022b90-c801-11ef-9d5c-6b1f6f2a4c11"}])]
    created_time: Annotated[int, Meta(description="when it was registered, epoch ms", examples=[1735689600000])]
    company_id: Annotated[
        Id, Meta(description="company that owns it", examples=[{"id": "b37c5a20-c801-11ef-9d5c-6b1f6f2a4c11"}])
    ]
    director_id: Annotated[
        Id,
        Meta(
            description="managing director; the placeholder for none",
            examples=[{"id": "5b6f9c10-c801-11ef-9d5c-6b1f6f2a4c11"}],
        ),
    ]
    current_driver_id: Annotated[
        Id,
        Meta(
            description="who drives it now; the placeholder for nobody",
            examples=[{"id": "13814000-1dd2-11b2-8080-808080808080"}],
        ),
    ]
    latest_trip_id: Annotated[
        Id,
        Meta(
            description="its newest trip; the placeholder before the first",
            examples=[{"id": "13814000-1dd2-11b2-8080-808080808080"}],
        ),
    ]
    service_type: Annotated[str, Meta(description="service type of the company", examples=["ace"])]
    vehicle_no: Annotated[str, Meta(description="vehicle registration number", examples=["12가3456"])]
    model_name: Annotated[str | None, Meta(description="name of the model", examples=["Sonata"])]
    model_code: Annotated[str | None, Meta(description="code of the model", examples=["NF-2018"])]
    vendor: Annotated[str | None, Meta(description="maker", examples=["Hyundai"])]
    sensor_count: Annotated[int, Meta(description="number of sensors mounted on it", examples=[1])]
    status: Annotated[
        str, Meta(description="ACTIVATED or DEACTIVATED: whether drivers may drive it", examples=["DEACTIVATED"])
    ]
    additional_info: Annotated[str | None, Meta(description="anything else", examples=["winter tyres"])]
    model_year: Annotated[float | None, Meta(description="manufacturing year", examples=[2018])]
    usage: Annotated[str | None, Meta(description="purpose of use", examples=["delivery"])]
    category: Annotated[str | None, Meta(description="TRUCK, BUS, TAXI, PERSONAL or ETC", examples=["TAXI"])]
    mission_type: Annotated[str | None, Meta(description="transmission: AUTO or MANUAL", examples=["AUTO"])]
    fuel_type: Annotated[str | None, Meta(description="fuel: DIESEL, GASOLINE or LPG", examples=["GASOLINE"])]
    displacement: Annotated[float, Meta(description="engine displacement, cc; 0 when not sent", examples=[1998])]
    mileage: Annotated[float, Meta(description="total distance driven, km", examples=[12000])]
    delegate_user_count: Annotated[
        int, Meta(description="number of rights that directors and drivers have on it", examples=[0])
    ]
    last_trip_msg_type: Annotated[
        str | None,
        Meta(
            description="MICROTRIP while driving, TRIP after a trip message; null before the first",
            examples=["MICROTRIP"],
        ),
    ]


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
        model_year=None if vehicle.model_year is None else number(vehicle.model_year),
        usage=vehicle.usage,
        category=vehicle.category,
        mission_type=vehicle.mission_type,
        fuel_type=vehicle.fuel_type,
        displacement=number(vehicle.displacement),
        mileage=number(vehicle.mileage),
        delegate_user_count=vehicle.delegate_user_count,
        last_trip_msg_type=vehicle.last_trip_msg_type,
    )
