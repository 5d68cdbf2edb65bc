"""Rows of vehicles and sensors with every required column, their keys included."""

from typing import Any

from tripline.domain import keys


def vehicle(vehicle_id: str, company_id: str, **columns: Any) -> dict[str, Any]:
    """A row of `vehicle`. Its number is its id if not given."""
    row = {"created_ms": 1, "service_type": "taxi", "vehicle_no": vehicle_id, "mileage": 1.0, "displacement": 0.0}
    row |= {"status": "ACTIVATED", **columns, "id": vehicle_id, "company_id": company_id}
    return {**row, "number_key": keys.key(row["vehicle_no"])}


def sensor(sensor_id: str, company_id: str, **columns: Any) -> dict[str, Any]:
    """A row of `sensor`. Its serial number is its id if not given."""
    row = {"created_ms": 1, "service_type": "taxi", "serial_no": sensor_id, "type": "GPS", "activation_required": False}
    row |= {"status": "ACTIVATED", **columns, "id": sensor_id, "company_id": company_id}
    return {**row, "serial_key": keys.key(row["serial_no"])}
