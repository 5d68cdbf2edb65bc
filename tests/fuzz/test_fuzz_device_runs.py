"""A short run of the fuzzer of device messages, and bodies chosen to be as expensive as possible."""

import pytest
from tests.fuzz import fuzz_device
from tests.support.device_messages import read

from tripline.wire import topics
from tripline.wire.readings import Microtrip

pytestmark = pytest.mark.deep

LARGEST = fuzz_device.LARGEST


@pytest.mark.parametrize("seed", [11, 12])
def test_mutated_messages_are_read_without_an_error(seed: int) -> None:
    fuzz_device.run(3_000, seed)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"[" * LARGEST, "too_many_parts"),
        (b'{"a":' * (LARGEST // 5), "too_many_parts"),
        (b'{"ty":2,"pld":{"a":[1e999,' + b"[]," * 80_000 + b"[]]}}", "too_many_parts"),
        (b'{"ty":2,"pld":{"clt":"' + b" " * 260_000 + b'"}}', ""),
        (b'{"ty":4,"pld":{"em":"' + b" " * 260_000 + b'"}}', ""),
        (b'{"ty":4,"pld":{"sp":' + b"9" * 260_000 + b"}}", ""),
        (b'{"ty":2,"pld":{"a":"' + b"\\ud800 " * 37_000 + b'"}}', ""),
        (b'{"ty":2,"pld":[' + b"{}," * 80_000 + b"{}]}", "too_many_parts"),
        (b'{"ty":2,"pld":[' + b"{}," * 16_000 + b"{}]}", "too_many_items"),
        (b'{"ty":2,"pld":[' + b"5," * 900 + b"5]}", "item_form"),
    ],
    ids=[
        *("arrays", "objects", "mended", "blank time", "blank flags"),
        *("digits", "surrogates", "objects in a row", "items", "no objects"),
    ],
)
def test_expensive_body_is_read_or_rejected(body: bytes, reason: str) -> None:
    (reading,) = read(body, max_items=1000)

    assert (getattr(reading, "reason", ""), isinstance(reading, Microtrip)) == (reason, not reason)


def test_hexadecimal_text_of_full_size_is_rejected() -> None:
    (reading,) = read(b"93" * (LARGEST // 2), topic=topics.TRE_MSGPACK)

    assert reading.reason == "not_msgpack"
