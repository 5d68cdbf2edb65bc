"""Registrations in CSV: the columns of a file, and conversion of cells to field values.

The columns are the fields of the matching registration request, in any order (spec/gaps H17): a new field of a request
is a new column. An empty cell counts as not sent. Text is used as it is in the file; a number has digits and a decimal
point only, a flag is `true` or `false` in any letter case.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect

from tripline.domain import fields, keys
from tripline.domain.refusals import BadParameter
from tripline.wire import csv_files
from tripline.wire.rest import sensors as rest_sensors
from tripline.wire.rest import vehicles as rest_vehicles

T = TypeVar("T")
_NUMBER: Final = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?\s*", re.ASCII)
_FLAGS: Final = {"true": True, "false": False}


@dataclass(frozen=True)
class Sheet:
    """One kind of file."""

    request: type[msgspec.Struct]
    required: tuple[str, ...]
    """Columns that every good row needs."""
    sample: tuple[Mapping[str, str], ...]
    """Rows of the sample file."""

    @cached_property
    def columns(self) -> dict[str, tuple[str, type | None]]:
        """For each column the field's name in Python and the type of its cells: float, bool, or None for text."""
        known = inspect.type_info(self.request)
        assert isinstance(known, inspect.StructType)
        return {field.encode_name: (field.name, _read_as(field.type)) for field in known.fields}

    def column_of(self, heading: str) -> str | None:
        """The column that a heading names, compared by its key (`domain/keys.py`)."""
        return self._by_key.get(keys.key(heading))

    @cached_property
    def _by_key(self) -> dict[str, str]:
        return {keys.key(name): name for name in self.columns}

    def record(self, rules: Callable[..., T], cells: Mapping[str, str]) -> T:
        """Apply the rules to a row's fields, by their Python names, and return the result.

        Raises the `BadParameter` of a cell that is not a number or flag or breaks a rule, with the other refusals
        attached.
        """
        checked, columns, values = fields.Checks(), self.columns, {}
        for name, text in cells.items():
            try:
                values[columns[name][0]] = _value(name, text, columns[name][1])
            except BadParameter as refusal:
                checked.refuse(refusal)
        made = checked.whole(rules, values)
        checked.end()
        return made

    def sample_file(self, headings: Sequence[str] | None = None) -> bytes:
        """A sample file with every column and a few rows; the columns have our names, or these headings."""
        names = list(self.columns)
        return csv_files.written([headings or names, *([row.get(name, "") for name in names] for row in self.sample)])


VEHICLES: Final = Sheet(
    request=rest_vehicles.VehicleRequest,
    required=("vehicleNo", "mileage"),
    sample=(
        {
            "vehicleNo": "12가3456",
            "vendor": "Hyundai",
            "modelCode": "AE",
            "modelName": "Ioniq",
            "modelYear": "2018",
            "missionType": "AUTO",
            "fuelType": "GASOLINE",
            "mileage": "45210.5",
            "category": "PERSONAL",
            "usage": "sales",
            "displacement": "1580",
            "additionalInfo": "parked at Seongsu",
        },
        {"vehicleNo": "34나5678", "missionType": "MANUAL", "fuelType": "DIESEL", "mileage": "120000"},
    ),
)
SENSORS: Final = Sheet(
    request=rest_sensors.SensorRequest,
    required=("serialNo", "type", "credentialsId"),
    sample=(
        {
            "serialNo": "SN-000001",
            "credentialsId": "aB3dE6gH9jK2mN5pQ8sT",
            "vendor": "Acme",
            "type": "GPS",
            "activationRequired": "false",
            "missionType": "AUTO",
            "additionalInfo": "shelf 3",
        },
        {"serialNo": "SN-000002", "credentialsId": "bC4eF7hJ1kL3nP6qR9tU", "type": "OBD2"},
    ),
)


def _read_as(field: inspect.Type) -> type | None:
    """The type of a field's cells. A year may be sent as text, and is validated as such."""
    if isinstance(field, inspect.Metadata):
        field = field.type
    kinds = {type(each) for each in (field.types if isinstance(field, inspect.UnionType) else (field,))}
    if inspect.BoolType in kinds:
        return bool
    return float if inspect.FloatType in kinds and inspect.StrType not in kinds else None


def _value(name: str, text: str, read_as: type | None) -> Any:
    if read_as is None:
        return text
    if read_as is bool:
        flag = _FLAGS.get(text.strip().lower())
        if flag is None:
            raise BadParameter("flag", field=name)
        return flag
    if not _NUMBER.fullmatch(text):
        raise BadParameter("number", field=name)
    return float(text)
