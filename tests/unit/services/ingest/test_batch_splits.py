"""Cutting batches: messages behind a device's result wait for the next batch."""

import itertools

import pytest
from tests.support.ingest_rig import NOW, SENSOR, TOPIC, UNMAPPED, FakeSource

from tripline.services.device_frames import Frame
from tripline.services.ingest import batch_splits
from tripline.services.ingest.pipeline import LONG_BYTES
from tripline.wire import topics

RESULT = topics.RPC_RESULT + "1"
ACK = topics.RPC_RESPONSE + "1"
OURS, OTHERS = FakeSource(SENSOR), FakeSource(UNMAPPED)


def frames(*told):
    return [Frame(source, topic, b"", NOW, token) for token, (source, topic) in enumerate(told, 1)]


def tokens(cut):
    return [[frame.token for frame in part] for part in cut]


@pytest.mark.parametrize(
    ("sent", "parts"),
    [
        ([], [[], []]),
        ([TOPIC, TOPIC], [[1, 2], []]),
        ([TOPIC, RESULT], [[1, 2], []]),
        ([RESULT, TOPIC], [[1], [2]]),
        ([ACK, TOPIC], [[1, 2], []]),
        ([RESULT, RESULT, ACK], [[1, 2, 3], []]),
        ([RESULT, TOPIC, RESULT, TOPIC], [[1], [2, 3, 4]]),
        ([RESULT, topics.TRE_MSGPACK, ACK], [[1], [2, 3]]),
        ([RESULT, topics.TELEMETRY], [[1], [2]]),
        ([RESULT, "v1/else"], [[1, 2], []]),
    ],
)
def test_data_behind_a_result_of_the_sensor_waits(sent, parts):
    assert tokens(batch_splits.behind_results(frames(*((OURS, topic) for topic in sent)))) == parts


def test_other_sensors_wait_for_nobody():
    sent = frames((OURS, RESULT), (OTHERS, TOPIC), (OURS, TOPIC), (OTHERS, RESULT), (OTHERS, TOPIC), (OURS, ACK))

    assert tokens(batch_splits.behind_results(sent)) == [[1, 2, 4], [3, 5, 6]]


def test_every_cut_makes_progress_and_keeps_the_order_of_each_sensor():
    for choice in itertools.product([(OURS, RESULT), (OURS, TOPIC), (OTHERS, RESULT), (OTHERS, TOPIC)], repeat=5):
        left, order = frames(*choice), []
        while left:
            together, left = batch_splits.behind_results(left)
            assert together
            order += together

        for source in (OURS, OTHERS):
            mine = [frame.token for frame in order if frame.source is source]
            assert mine == sorted(mine)


@pytest.mark.parametrize(
    ("sizes", "count"),
    [([], 0), ([11], 1), ([10, 1], 1), ([5, 5], 2), ([5, 5, 1], 2), ([0, 0, 0, 0], 3), ([11, 0], 1), ([4, 11], 1)],
)
def test_large_batch_is_cut_before_it_is_too_large_and_has_at_least_one_frame(sizes, count):
    sent = [Frame(OURS, TOPIC, b"x" * size, NOW, token) for token, size in enumerate(sizes, 1)]

    assert tokens(batch_splits.fairly(sent, 3, 10)) == [[*range(1, count + 1)], [*range(count + 1, len(sizes) + 1)]]


@pytest.mark.parametrize(
    ("sent", "parts"),
    [
        ("o O o t", [[1, 2, 3, 4], []]),
        ("O O o t T", [[1, 4, 5], [2, 3]]),
        ("o O O O t T T t", [[1, 2, 5, 6], [3, 4, 7, 8]]),
        ("O T O T", [[1, 2], [3, 4]]),
    ],
)
def test_source_of_long_messages_waits_behind_everybody_else(sent, parts):
    """`o` and `O` are a short and a long message of one device, `t` and `T` of another."""
    sizes = {"o": LONG_BYTES, "O": LONG_BYTES + 1, "t": 1, "T": LONG_BYTES + 1}
    found = [
        Frame(OURS if letter in "oO" else OTHERS, TOPIC, b"x" * sizes[letter], NOW, token)
        for token, letter in enumerate(sent.split(), 1)
    ]

    assert tokens(batch_splits.fairly(found, 100, 2**30)) == parts
