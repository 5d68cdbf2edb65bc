"""Reasons against a message from the bus: a stable word for counting, a sentence for the customer's developer.

The words are labels of the metric, of the rejected-message log and of the dead-letter topic, and the source of their
list in the documentation. Words shared with device messages have the same meaning there (`wire/device/reasons.py`).
"""

from typing import Final

from tripline.domain.device_messages import EVENTS_IN_WORDS
from tripline.wire.device import reasons as device_reasons
from tripline.wire.readings import Rejected

NOT_JSON: Final = device_reasons.NOT_JSON
NOT_OBJECT: Final = device_reasons.NOT_OBJECT
TOO_DEEP: Final = device_reasons.TOO_DEEP
TOO_MANY_PARTS: Final = device_reasons.TOO_MANY_PARTS
TOO_LARGE: Final = "too_large"
DATA_FORM: Final = "data_form"
KIND: Final = "kind"
NO_SENSOR: Final = "no_sensor"
UNKNOWN_SENSOR: Final = "unknown_sensor"
COMPANY: Final = "company"
NO_TRIP: Final = "no_trip"
TRIP_TAKEN: Final = "trip_taken"
NO_PAYLOAD: Final = device_reasons.NO_PAYLOAD
PAYLOAD_TEXT: Final = "payload_text"
PAYLOAD_FORM: Final = device_reasons.PAYLOAD_FORM
TOO_MANY_ITEMS: Final = device_reasons.TOO_MANY_ITEMS
ITEM_FORM: Final = device_reasons.ITEM_FORM
NO_TYPE: Final = device_reasons.NO_TYPE
UNKNOWN_TYPE: Final = device_reasons.UNKNOWN_TYPE
INTERNAL: Final = "internal"

REASONS: Final[dict[str, str]] = {
    NOT_JSON: "The message is not JSON in UTF-8: look for a missing or trailing comma, an unclosed bracket, NaN.",
    NOT_OBJECT: 'The message is JSON but not an object: send one object such as {"data":{...},"msgType":"trip"}.',
    TOO_DEEP: "Objects and arrays are nested too deeply: the payload's values should be numbers and texts.",
    TOO_MANY_PARTS: "There are more than 16,384 objects and arrays: send plain values, or fewer samples at once.",
    TOO_LARGE: "The message is longer than 1 MiB: send fewer samples in one message.",
    DATA_FORM: "`data` is neither an object nor JSON text of one, and the message has no `payload` of its own.",
    KIND: "`msgType` is not microtrip, trip or event, and the topic does not name one of these either.",
    NO_SENSOR: "`sensorId` is missing or not a UUID: send the id of the registered sensor.",
    UNKNOWN_SENSOR: "No sensor with this `sensorId` is registered.",
    COMPANY: "The sensor does not belong to the company named in the message or the topic.",
    NO_TRIP: "`tripId` is missing or not a UUID: microtrips and trips need the id that your system gave the drive.",
    TRIP_TAKEN: "`tripId` belongs to another trip: each drive of each sensor needs its own.",
    NO_PAYLOAD: "`payload` is missing or null: put the record of the device type there.",
    PAYLOAD_TEXT: "`payload` is text that is not JSON.",
    PAYLOAD_FORM: "`payload` is neither an object nor, for microtrips and events, an array of objects.",
    TOO_MANY_ITEMS: "The array in `payload` has too many items: send fewer samples in one message.",
    ITEM_FORM: "Elements of the array in `payload` are not objects and were left out; the others were used.",
    NO_TYPE: "`ty` is missing or not a whole number, and `payload` is not a known event: send the number of the event.",
    UNKNOWN_TYPE: f"`ty` is below 100: events have the numbers {EVENTS_IN_WORDS}, others from 100 on are stored as they"
    " are.",
    INTERNAL: "The program failed on this message, which is a bug; it was set aside so that the others go on.",
}
"""Reason -> description of the error, with the fix."""


def rejected(reason: str, body: bytes) -> Rejected:
    """The message as an entry of the rejected-message log."""
    return Rejected(reason=reason, detail=REASONS[reason], body=body)
