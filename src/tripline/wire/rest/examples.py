"""Ids in the examples of the documentation, as JSON: a noun has the same one everywhere."""

from typing import Final

from tripline.domain import ids

COMPANY: Final = {"id": "b37c5a20-c801-11ef-9d5c-6b1f6f2a4c11"}
OTHER_COMPANY: Final = {"id": "0d2f8e60-c802-11ef-9d5c-6b1f6f2a4c11"}
EVENT: Final = {"id": "6c9ba3d0-c801-11ef-9d5c-6b1f6f2a4c11"}
NOTHING: Final = {"id": ids.PLACEHOLDER}
PERSON: Final = {"id": "f0a1b2c0-c801-11ef-9d5c-6b1f6f2a4c11"}
SENSOR: Final = {"id": "0d8f4c50-c802-11ef-9d5c-6b1f6f2a4c11"}
TRIP: Final = {"id": "0c5f7a60-c802-11ef-9d5c-6b1f6f2a4c11"}
VEHICLE: Final = {"id": "d6022b90-c801-11ef-9d5c-6b1f6f2a4c11"}
