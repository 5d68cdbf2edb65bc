"""Live positions: which sample is the newest, in whatever order and pieces they come (spec/positions L1 to L4)."""

import math

from hypothesis import given
from hypothesis import strategies as st

from tripline.domain import positions, samples

T = 1_735_689_600_000


def sample(at: int, lat: float, lon: float, speed: float) -> bytes:
    return samples.RECORD.pack(T + at, lat, lon, speed, samples.NO_FLAGS, 1)


NUMBERS = st.integers(0, 6)
SAMPLES = st.builds(
    lambda at, lat, lon, speed: sample(
        at * 700, math.nan if lat == 6 else lat / 10, lon / 10, math.nan if speed == 6 else speed
    ),
    st.integers(0, 12),
    *(NUMBERS, NUMBERS, NUMBERS),
)


MESSAGES = st.lists(SAMPLES, min_size=1, max_size=8).map(b"".join)
TIMELESS = SAMPLES.map(lambda packed: packed[:-2] + b"\0\0")


def told(packed: bytes) -> list[bytes]:
    """The samples of a message that can be the newest: those with a position and a time of their own, or the last."""
    every = [packed[at : at + samples.RECORD.size] for at in range(0, len(packed), samples.RECORD.size)]
    valid = [each for each in every if not math.isnan(samples.RECORD.unpack(each)[1])]
    return [each for each in valid if samples.RECORD.unpack(each)[5] == 1] or valid[-1:]


def rank(packed: bytes) -> tuple[int, float, float, float]:
    time_ms, lat, lon, speed, _, _ = samples.RECORD.unpack(packed)
    return time_ms, lat, lon, -1.0 if math.isnan(speed) else speed


def ended(messages: list[bytes]) -> bytes:
    """What is kept after these messages."""
    tail = b""
    for packed in messages:
        tail = positions.newest(tail, packed, last_ms=max(each[0] for each in samples.RECORD.iter_unpack(packed)))
    return tail


@given(st.lists(SAMPLES, min_size=1, max_size=8), st.randoms())
def test_any_order_of_messages_gives_the_same_newest_sample_and_heading(messages, chance):
    shuffled = messages[:]
    chance.shuffle(shuffled)

    assert ended(shuffled) == ended(messages) == ended(messages + messages)


@given(st.lists(SAMPLES, min_size=1, max_size=8), st.integers(1, 8))
def test_any_cut_into_aggregates_gives_the_same_newest_sample(messages, size):
    cut = [b"".join(messages[at : at + size]) for at in range(0, len(messages), size)]
    whole = max(
        (each for packed in messages for each in samples.RECORD.iter_unpack(packed) if not math.isnan(each[1])),
        key=lambda each: each[:3],
        default=None,
    )

    tail = ended(cut)

    assert (samples.RECORD.unpack(positions.last_of(tail))[:3] if tail else None) == (whole and whole[:3])


@given(SAMPLES, SAMPLES)
def test_shortcut_for_a_single_newer_sample_is_the_rule(first, second):
    tail = ended([first])
    newest_ms = positions.time_of(tail) if tail else -1
    last_ms = samples.RECORD.unpack(second)[0]

    is_next = positions.is_next(second, last_ms=last_ms, newest_ms=newest_ms)

    assert is_next == (last_ms > newest_ms and not math.isnan(samples.RECORD.unpack(second)[1]))
    assert not is_next or ended([first, second]) == tail + second


@given(MESSAGES, st.lists(SAMPLES | TIMELESS, min_size=1, max_size=8).map(b"".join), st.booleans())
def test_newest_of_a_message_are_the_last_of_all_samples_in_their_order(before, packed, in_order):
    if in_order:
        packed = b"".join(sorted(told(packed), key=rank))
    tail, last_ms = ended([before]), max((each[0] for each in samples.RECORD.iter_unpack(packed)), default=0)

    newest = positions.newest(tail, packed, last_ms=last_ms)

    ranked = {rank(each): each for each in (*told(tail), *told(packed))}
    assert newest == b"".join(ranked[key] for key in sorted(ranked)[-positions.KEPT :])
