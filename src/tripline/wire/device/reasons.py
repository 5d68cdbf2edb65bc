"""Reasons against a device's message: a stable word for counting, a sentence for the maker of the device.

The words are labels of the metric and of the rejected-message log, and the source of their list in the documentation.
"""

from typing import Final

from tripline.wire.readings import Rejected

NOT_JSON: Final = "not_json"
NOT_MSGPACK: Final = "not_msgpack"
NOT_OBJECT: Final = "not_object"
TOO_DEEP: Final = "too_deep"
TOO_MANY_PARTS: Final = "too_many_parts"
TOPIC: Final = "topic"
NO_PAYLOAD: Final = "no_payload"
PAYLOAD_FORM: Final = "payload_form"
NO_TYPE: Final = "no_type"
UNKNOWN_TYPE: Final = "unknown_type"
TOO_MANY_ITEMS: Final = "too_many_items"
ITEM_FORM: Final = "item_form"

REASONS: Final[dict[str, str]] = {
    NOT_JSON: "The body is not valid JSON in UTF-8: look for a missing or trailing comma, an unclosed bracket, NaN.",
    NOT_MSGPACK: "The body is not a MessagePack map: send the raw bytes of one encoded map with `ty`, `ts` and `pld`.",
    NOT_OBJECT: 'The body is JSON but not an object: send one object such as {"ty":2,"ts":...,"pld":{...}}.',
    TOO_DEEP: "Objects and arrays are nested too deeply: the payload's values should be numbers and texts.",
    TOO_MANY_PARTS: "There are more than 16,384 objects and arrays: send plain values, or fewer samples at once.",
    TOPIC: "No data is read from this topic: publish to v1/sensors/me/tre, or MessagePack to v1/sensors/me/mp/tre.",
    NO_PAYLOAD: "`pld` is missing or null: put the values of the message into an object under `pld`.",
    PAYLOAD_FORM: "`pld` is neither an object nor an array of objects: send the values as an object, not as text.",
    NO_TYPE: "`ty` is missing or not a whole number, and `pld` is not a known event: send the message number as `ty`.",
    UNKNOWN_TYPE: "`ty` is not a known message number: use 1 to 12 for trips and microtrips, 100 and above for events.",
    TOO_MANY_ITEMS: "The array in `pld` has too many items: send fewer samples in one message.",
    ITEM_FORM: "Elements of the array in `pld` are not objects and were left out; the others were used.",
}
"""Reason -> description of the error, with the fix."""


def rejected(reason: str, body: bytes) -> Rejected:
    """The message (or the unusable part of it) as an entry of the rejected-message log."""
    return Rejected(reason=reason, detail=REASONS[reason], body=body)
