"""Filters, and packet ids of messages to the client."""

import pytest

from tripline.mqtt.filters import fault, matches
from tripline.mqtt.outbound import Outbound


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
        ("+/+", "/a", True),
        ("/+", "/a", True),
        ("a/b/", "a/b", False),
        ("a//b", "a/b", False),
        ("a/+/c", "a/b/c", True),
        ("A/b", "a/b", False),
        ("a/+", "a/", True),
        ("#", "$SYS/load", False),
        ("+/load", "$SYS/load", False),
        ("$SYS/#", "$SYS/load", True),
        ("$SYS/+", "$SYS/load", True),
        ("a/#", "a/$b", True),
    ],
)
def test_filter_covers_topics_as_the_standard_says(wanted, topic, covers):
    assert matches(wanted, topic) is covers


@pytest.mark.parametrize("wanted", ["#", "+", "a/#", "+/a/#", "a/+/b", "/", "+/+", "$SYS/#", "a b"])
def test_well_formed_filter_has_no_fault(wanted):
    assert fault(wanted) is None


@pytest.mark.parametrize(
    ("wanted", "rule"),
    [
        ("", "MQTT-4.7.3-1"),
        ("a#", "MQTT-4.7.1-2"),
        ("a/#/b", "MQTT-4.7.1-2"),
        ("#/b", "MQTT-4.7.1-2"),
        ("a/b#", "MQTT-4.7.1-2"),
        ("a+", "MQTT-4.7.1-3"),
        ("a/+b/c", "MQTT-4.7.1-3"),
        ("++", "MQTT-4.7.1-3"),
    ],
)
def test_ill_formed_filter_names_the_broken_rule(wanted, rule):
    assert fault(wanted)[1] == rule


def test_device_that_never_acknowledges_stays_reachable():
    outbound = Outbound(limit=2)

    ids = [outbound.publish("t", b"", 1)[0] for _ in range(4)]

    assert ids == [1, 2, 3, 4]
    assert [outbound.acknowledged(packet_id) for packet_id in ids] == [False, False, True, True]


def test_packet_ids_begin_again_behind_65535():
    outbound = Outbound(limit=2)
    ids = []
    for _ in range(65_536):
        packet_id, _ = outbound.publish("t", b"", 1)
        outbound.acknowledged(packet_id)
        ids.append(packet_id)

    assert ids == [*range(1, 65_536), 1]
