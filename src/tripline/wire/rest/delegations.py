"""JSON of relations: candidates, vehicles delegated to companies, rights on vehicles.

Follows spec/interface (Company relation; Vehicle delegation to a company, to a user), in its order.
"""

from functools import partial
from typing import Annotated, Final

import msgspec

from tripline.domain import fields
from tripline.domain.refusals import BadParameter
from tripline.wire.described import about
from tripline.wire.rest import examples
from tripline.wire.rest.base import Id, record_of

_ITSELF = {"id": "91b1c0e0-c802-11ef-9d5c-6b1f6f2a4c11"}

Created = Annotated[int, about("when it was made; epoch ms", 1735689600000)]
FromCompany = Annotated[Id, about("the company that delegates", examples.COMPANY)]
FromName = Annotated[str, about("name of the company that delegates", "Han River Taxi")]
ToCompany = Annotated[Id, about("the company that receives", examples.OTHER_COMPANY)]
ToName = Annotated[str, about("name of the company that receives", "Namsan Rental")]
Vehicle = Annotated[Id, about("the vehicle", examples.VEHICLE)]
VehicleNo = Annotated[str, about("number of the vehicle", "12가3456")]


class CandidateRequest(msgspec.Struct, rename="camel", kw_only=True):
    """The company that becomes a delegation candidate."""

    to_company_id: Annotated[
        Id | str | None, about("the company that may receive vehicles; required", examples.OTHER_COMPANY)
    ] = None


class VehicleChoice(msgspec.Struct, rename="camel", kw_only=True):
    """The vehicle to delegate."""

    vehicle_id: Annotated[Id | str | None, about("the vehicle; required", examples.VEHICLE)] = None


class RelationRecord(msgspec.Struct, rename="camel", kw_only=True):
    """Company relation: one company may delegate its vehicles to another."""

    id: Annotated[Id, about("the relation", _ITSELF)]
    created_time: Created
    from_company_id: FromCompany
    to_company_id: ToCompany
    service_type: Annotated[str, about("service type of both companies", "taxi")]
    from_company_name: FromName
    to_company_name: ToName


class DelegationRecord(msgspec.Struct, rename="camel", kw_only=True):
    """Vehicle delegation to a company."""

    id: Annotated[Id, about("the delegation", _ITSELF)]
    created_time: Created
    from_company_id: FromCompany
    from_company_name: FromName
    to_company_id: ToCompany
    to_company_name: ToName
    vehicle_id: Vehicle
    vehicle_no: VehicleNo


class RightRecord(msgspec.Struct, rename="camel", kw_only=True):
    """Vehicle delegation to a user: a director's or driver's right on one vehicle."""

    id: Annotated[Id, about("the delegation", _ITSELF)]
    created_time: Created
    company_id: Annotated[Id, about("the person's company", examples.COMPANY)]
    company_name: Annotated[str, about("name of the person's company", "Namsan Rental")]
    user_id: Annotated[Id, about("the director or driver", examples.PERSON)]
    user_name: Annotated[str, about("name of the director or driver", "Kim Minji")]
    vehicle_id: Vehicle
    vehicle_no: VehicleNo
    user_role: Annotated[
        str, about("what the person may do: DELEGATED_DIRECTOR (a director) or DRIVER (a driver)", "DELEGATED_DIRECTOR")
    ]


relation_record: Final = partial(record_of, RelationRecord)
delegation_record: Final = partial(record_of, DelegationRecord)
right_record: Final = partial(record_of, RightRecord)


def id_of(sent: Id | str | None, name: str) -> str:
    """The canonical id in an Id object or a bare text. Raises `BadParameter` when it is missing or not a UUID."""
    text = sent.id if isinstance(sent, Id) else sent
    if not text:
        raise BadParameter.missing(name)
    return fields.uuid(name, text)
