"""Filters, and packet ids of messages to the client."""

import pytest

from tripline.mqtt.outbound import Outbound, matches


@pytest.mark.parametrize(
    ("wanted", "topic", "covers"),
    [
        ("a/b", "a/b", True),
        ("a/b", "a/c", False),
        ("a/+", "a/b", True),
        ("a/+", "a/b/c", False),
        ("a/+", "a", False),
        ("a/#", "a", True),
        ("a/#", "a/b/c", True),
        ("#", "a/b", True),
        ("+", "/a", False),
    ],
)
def test_filter_covers_topics_as_the_standard_says(wanted, topic, covers):
    assert matches(wanted, topic) is covers


def test_packet_ids_begin_again_behind_65535():
    outbound = Outbound(limit=2)
    ids = []
    for _ in range(65_536):
        packet_id, _ = outbound.publish("t", b"", 1)
        outbound.acknowledged(packet_id)
        ids.append(packet_id)

    assert ids == [*range(1, 65_536), 1]
