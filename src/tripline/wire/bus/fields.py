"""Single values of a bus message's fields: look-up, ids, times (spec/bus-messages 3.1, 4.4, 4.5, 4.8, 4.13).

An unreadable value is None, never an error.
"""

import datetime
import re
from collections.abc import Mapping
from typing import Any, Final

from tripline.domain import ids
from tripline.wire.device import values as device_values

Fields = Mapping[str, Any]

_SPELLINGS: Final = {
    name: (name, name.removesuffix("Id") + "ID")
    for name in ("companyId", "sensorId", "vehicleId", "tripId", "userId", "microTripId", "eventId")
}
_TEXT_TIME: Final = re.compile(
    r"\s*([0-9]{4})-([0-9]{2})-([0-9]{2})[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?\s*", re.ASCII
)
_LONGEST_KEY: Final = 255


class Values:
    """The fields of one message: from `data`, or from the envelope when `data` lacks them (4.13)."""

    __slots__ = ("_data", "_envelope")

    def __init__(self, data: Fields, envelope: Fields) -> None:
        self._data = data
        self._envelope = envelope

    def get(self, name: str) -> Any:
        """The field in either spelling (4.4); null equals absent."""
        for place in (self._data, self._envelope):
            for key in _SPELLINGS.get(name, (name,)):
                value = place.get(key)
                if value is not None:
                    return value
        return None

    def id_of(self, name: str) -> str | None:
        """The canonical id in the field; None when it is missing, unreadable, or the placeholder."""
        read = uuid(self.get(name))
        return None if read == ids.PLACEHOLDER else read

    def said(self, name: str) -> str | None:
        """The id as from `id_of`, but the placeholder when it is unreadable; None: the field is missing."""
        value = self.get(name)
        return None if value is None else uuid(value) or ids.PLACEHOLDER

    def key(self, name: str) -> str | None:
        """The customer's key of a record, UUID or not, as text."""
        value = _bare(self.get(name))
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            return None
        return value.strip()[:_LONGEST_KEY] or None

    def instant(self, number: str, text: str | None, zone: datetime.tzinfo, received_ms: int) -> int | None:
        """The time in the first field, or else the time in the second, text or number (3.1)."""
        at_ms = device_values.instant(self.get(number), received_ms)
        if at_ms is None and text is not None:
            value = self.get(text)
            at_ms = device_values.instant(value, received_ms)
            if at_ms is None and isinstance(value, str):
                at_ms = local_ms(value, zone, received_ms)
        return at_ms


def uuid(value: object) -> str | None:
    """The canonical UUID of a text, or of an Id object (4.5)."""
    value = _bare(value)
    return ids.canonical(value.strip()) if isinstance(value, str) else None


def _bare(value: object) -> object:
    return value.get("id") if isinstance(value, dict) else value


def local_ms(text: str, zone: datetime.tzinfo, received_ms: int) -> int | None:
    """Epoch ms of `YYYY-MM-DD HH:MM:SS` or `YYYY-MM-DDTHH:MM[:SS]` in the zone, within the bounds of any time (T2)."""
    match = _TEXT_TIME.fullmatch(text) if len(text) <= 64 else None
    if match is None:
        return None
    try:
        moment = datetime.datetime(*(int(part or 0) for part in match.groups()), tzinfo=zone)  # type: ignore[arg-type, misc]
        at_ms = int(moment.timestamp()) * 1000
    except (ValueError, OverflowError):
        return None
    return at_ms if device_values.is_right(at_ms, received_ms) else None
