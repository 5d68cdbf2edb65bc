"""Broken and half-broken bytes against the MQTT codec and session, for as long as asked.

    python tests/fuzz/fuzz_codec.py --seconds 600 [--seed 7]

Checks that nothing but ProtocolError comes out (no crash), that no chunk takes longer than a second (no hang), and that
the process does not grow. Prints one line; exits 1 with the seed and the bytes of the first failure.
"""

import argparse
import contextlib
import random
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tripline.mqtt import decode, encode, events, packets
from tripline.mqtt.session import Rules, ServerSession

HANG_S = 1.0
GROWTH_KIB = 16_384
WARM_UP = 500
_RULES = Rules(max_body=4_096, may_subscribe=lambda wanted: wanted.startswith("v1/"))
_TOPICS = ("v1/sensors/me/tre", "v1/sensors/me/mp/tre", "a", "é/한국", "x" * 300)
_SIZES = (0, 9, 20, 50, 150, 150, 150, 4_096, 4_097, 20_000)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did."""

    rounds: int
    ends: int
    growth_kib: int
    slowest_s: float


class FuzzError(Exception):
    """A crash, a hang or growth."""


def run(*, seconds: float, seed: int, rounds: int | None = None) -> Outcome:
    """Fuzz until the time (or the number of rounds) is over. Raises FuzzError."""
    rng = random.Random(seed)
    done = ends = started_kib = 0
    slowest_s = 0.0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and (rounds is None or done < rounds):
        data = bytes(_stream(rng))
        try:
            ended, took_s = _play(data, rng)
        except Exception as error:
            raise FuzzError(f"crash {error!r} after {done} rounds of seed {seed}: {data[:400].hex()}") from error
        if took_s > HANG_S:
            raise FuzzError(f"hang of {took_s:.1f} s after {done} rounds of seed {seed}: {data[:400].hex()}")
        slowest_s = max(slowest_s, took_s)
        ends += ended
        done += 1
        if done == WARM_UP:
            started_kib = _resident_kib()
    growth_kib = _resident_kib() - started_kib if started_kib else 0
    if growth_kib > GROWTH_KIB:
        raise FuzzError(f"grew by {growth_kib} KiB in {done} rounds of seed {seed}")
    return Outcome(done, ends, growth_kib, slowest_s)


def _play(data: bytes, rng: random.Random) -> tuple[bool, float]:
    """Feed the bytes, cut at random, to a reader and to a session; whether it ended, and the slowest step."""
    with contextlib.suppress(packets.ProtocolError, packets.UnsupportedProtocol):
        decode.PacketReader(limit=1 << 20).receive(data)
    session = ServerSession(_RULES)
    ended, slowest_s = False, 0.0
    for chunk in _cut(data, rng):
        started = time.monotonic()
        found = session.receive(chunk)
        while found:
            event = found.pop(0)
            if isinstance(event, events.ConnectRequest):
                found += session.admit()
            elif isinstance(event, list):
                session.settled([token for *_, token in event if token])
            elif isinstance(event, events.Ended):
                ended = True
        session.take_output()
        slowest_s = max(slowest_s, time.monotonic() - started)
    return ended, slowest_s


def _stream(rng: random.Random) -> bytearray:
    """A CONNECT and some packets, most of them damaged somewhere."""
    data = bytearray()
    if rng.random() < 0.95:
        data += encode.packet(packets.Connect("c", user_name="u" * 20, keep_alive_s=rng.randrange(65_536)))
    for _ in range(rng.randrange(8)):
        data += rng.choice(_MAKERS)(rng)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 8))):
        _damage(data, rng)
    return data


def _damage(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data) + 1)
    match rng.randrange(4):
        case 0 if at < len(data):
            data[at] = rng.choice((0, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        case 1:
            del data[at : at + rng.randrange(9)]
        case 2:
            data[at:at] = rng.randbytes(rng.randrange(9))
        case _:
            data[at:at] = data[at : at + rng.randrange(65)]


def _cut(data: bytes, rng: random.Random) -> Iterator[bytes]:
    step = rng.choice((1, 9, 50, 400, 1_000, 1 << 20)) if len(data) < 1_000 else rng.choice((500, 1 << 20))
    at = 0
    while at < len(data):
        size = rng.randrange(1, step + 1)
        yield data[at : at + size]
        at += size


def _publish(rng: random.Random) -> bytes:
    qos = rng.randrange(3)
    body = rng.randbytes(rng.choice(_SIZES))
    return encode.publish(rng.choice(_TOPICS), body, qos=qos, packet_id=rng.randrange(1, 65_536))


_MAKERS: tuple[Callable[[random.Random], bytes], ...] = (
    _publish,
    _publish,
    _publish,
    lambda rng: encode.packet(packets.Pubrel(rng.randrange(1, 65_536))),
    lambda rng: encode.packet(packets.Puback(rng.randrange(1, 65_536))),
    lambda rng: encode.packet(packets.Subscribe(1, ((rng.choice(_TOPICS), rng.randrange(3)),))),
    lambda rng: encode.packet(packets.Unsubscribe(1, (rng.choice(_TOPICS),))),
    lambda _: encode.packet(packets.Pingreq()),
    lambda rng: rng.randbytes(rng.randrange(40)),
)


def _resident_kib() -> int:
    """The largest resident size so far: growth shows, whatever was given back."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    try:
        print(run(seconds=asked.seconds, seed=asked.seed))
    except FuzzError as failure:
        print(failure)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
