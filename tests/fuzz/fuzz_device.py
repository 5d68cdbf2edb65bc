"""Mutated device messages against the reader: `python -m tests.fuzz.fuzz_device SECONDS [SEED]`.

Starts from the golden messages and flips, cuts, repeats and joins their bytes. Every message must come back as
readings: an exception ends the run, a hang prints the stack, growth of memory fails the end. A short run is a test.
"""

import faulthandler
import gc
import json
import random
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.device_messages import RECEIVED_MS

from tripline.wire import topics
from tripline.wire.device import answered_payloads as device_answered_payloads
from tripline.wire.device import publish as device_publish
from tripline.wire.explanation import messages as explanation_messages
from tripline.wire.readings import DeviceEvent, Microtrip, Rejected, Trip

GOLDEN = Path(__file__).parents[1] / "golden" / "device"
LARGEST = 262_144
SENSOR_TYPES = ("GPS", "OBD", "BLACKBOX", "DTG", "")
MORSELS = (b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"1e999", b"null", b"NaN", b"\\ud800", b"-", b"\xff",
           b"\x81", b"9" * 400, b"[" * 70, b'{"a":' * 70, b'"pld":', b'"ty":2,', b'"clt":0', b'"28"')  # fmt: skip


def seeds() -> list[bytes]:
    """The bodies of the golden messages."""
    texts = (json.loads(path.read_text())["body"] for path in sorted(GOLDEN.glob("*.json")))
    return [bytes.fromhex(text[4:]) if text.startswith("hex:") else text.encode() for text in texts]


def mutations(rng: random.Random) -> Iterator[bytes]:
    """Endless bodies, none above the size that the gateway lets in."""
    corpus = seeds()
    while True:
        body = rng.choice(corpus)
        for _ in range(rng.randint(1, 4)):
            body = _mutated(body, rng, corpus)
        yield body[:LARGEST]


def _mutated(body: bytes, rng: random.Random, corpus: list[bytes]) -> bytes:
    at = rng.randint(0, len(body))
    end = min(len(body), at + rng.randint(0, 20))
    match rng.randint(0, 5):
        case 0:
            return body[:at] + rng.randbytes(rng.randint(1, 4)) + body[at:]
        case 1:
            return body[:at] + body[end:]
        case 2:
            return body[:at] + rng.choice(MORSELS) + body[end:]
        case 3:
            return body[:at] + body[at:end] * rng.randint(2, 50) + body[end:]
        case 4:
            return body[:at] + rng.choice(corpus)[rng.randint(0, 40) :]
        case _:
            return body.replace(rng.choice((b"1", b'"', b":", b"[", b"lat")), rng.choice(MORSELS), rng.randint(1, 2))


def read(body: bytes, rng: random.Random) -> None:
    """One message through the reader, its explanation and the answers; readings are counted, not judged."""
    topic, sensor_type = rng.choice((*sorted(device_publish.CHANNELS), topics.TRE)), rng.choice(SENSOR_TYPES)
    readings = device_publish.read(topic, body, received_ms=RECEIVED_MS, sensor_type=sensor_type, max_items=1000)
    told = explanation_messages.explain(topic, body, received_ms=RECEIVED_MS, sensor_type=sensor_type, max_items=1000)
    assert told.readings == readings
    for reading in readings:
        if isinstance(reading, Microtrip | Trip | DeviceEvent):
            device_answered_payloads.coerced(reading.payload, ty=reading.ty, device_type=reading.device_type)
        elif isinstance(reading, Rejected):
            assert reading.body is body


def run(messages: int, seed: int) -> None:
    """So many mutated messages, the same ones for the same seed."""
    rng = random.Random(seed)
    for body, _ in zip(mutations(rng), range(messages), strict=False):
        read(body, rng)


def main() -> None:
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    run(20_000, seed)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        seed += 1
        faulthandler.dump_traceback_later(60, exit=True)
        run(5_000, seed)
        count += 5_000
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"{count} messages, memory grown by {grown} KiB")
    sys.exit(grown > 32_768)


if __name__ == "__main__":
    main()
