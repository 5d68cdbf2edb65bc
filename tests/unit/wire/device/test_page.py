"""The page for device makers is true: each of its examples is read as it says, and every message has one."""

import json

import pytest
from tests.support.device_messages import RECEIVED_MS
from tests.support.device_page import PAGE, Example, examples

from tripline.wire.device import reasons as device_reasons
from tripline.wire.explanation import messages as explanation_messages
from tripline.wire.explanation import words as explanation_words
from tripline.wire.readings import DeviceEvent, Microtrip, Rejected, Trip

EXAMPLES = examples()


def explain(example: Example) -> explanation_messages.Explanation:
    return explanation_messages.explain(
        example.topic, example.body, received_ms=RECEIVED_MS, sensor_type=example.sensor_type, max_items=1000
    )


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.body.decode()[:40])
def test_example_of_the_page_is_read_as_the_page_says(example: Example) -> None:
    told = explain(example)

    said = [f"{each.sort:<9} {f'{each.where}: ' if each.where else ''}{each.text}" for each in told.findings]
    assert said == example.read
    assert any(isinstance(each, Rejected) for each in told.readings) is example.is_rejected


def test_page_has_no_block_that_is_no_example() -> None:
    page = PAGE.read_text("utf-8")

    assert page.count("```json") == page.count("```text") == len(EXAMPLES)


def test_page_shows_every_event_and_microtrips_and_trips_that_are_well_formed() -> None:
    readings = [reading for example in EXAMPLES for reading in explain(example).readings]

    events = {reading.ty for reading in readings if isinstance(reading, DeviceEvent)}
    microtrips = {reading.device_type for reading in readings if isinstance(reading, Microtrip)}
    trips = {reading.device_type for reading in readings if isinstance(reading, Trip)}
    assert events >= set(range(101, 117))
    assert microtrips == {"GPS", "OBD", "ADAS", "BLACKBOX", "DTG"}
    assert trips == {"GPS", "OBD", "BLACKBOX"}


def test_page_explains_every_word_of_the_explanation_and_shows_rejections_by_reason() -> None:
    page = PAGE.read_text("utf-8")
    readings = [reading for example in EXAMPLES for reading in explain(example).readings]
    reasons = {reading.reason for reading in readings if isinstance(reading, Rejected)}

    assert [sort for sort in explanation_words.Sort if f"| `{sort}` |" not in page] == []
    assert reasons == set(device_reasons.REASONS) - {
        "not_msgpack",
        "too_deep",
        "too_many_parts",
        "topic",
        "too_many_items",
    }


def test_bodies_of_calls_on_the_page_are_json() -> None:
    bodies = [line.strip() for line in PAGE.read_text("utf-8").splitlines() if line.startswith('    {"')]

    assert len(bodies) == 5
    assert all(isinstance(json.loads(body), dict) for body in bodies)
