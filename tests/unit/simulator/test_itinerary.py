"""Messages of simulated devices, read as the platform reads them: every type, every habit."""

import functools
from collections import Counter
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tripline.domain import samples
from tripline.simulator import incidents, itinerary
from tripline.simulator.drafts import Cut, Kind, Message, Step
from tripline.simulator.habits import HABITS
from tripline.simulator.itinerary import Character, Journeys
from tripline.simulator.payloads import TYPES
from tripline.wire import topics
from tripline.wire.device import publish as device_publish
from tripline.wire.readings import DeviceEvent, Microtrip, Reading, Rejected, Trip

BASE_MS = 1_735_689_600_000
JOURNEYS = Journeys(trips=2, duration_s=150, pause_s=90, events_per_hour=400)
SHORT = Journeys(trips=1, duration_s=60, pause_s=60, events_per_hour=600)
END_MS = BASE_MS + round(JOURNEYS.length_s * 1_000)
KINDS = {Kind.MICROTRIP: Microtrip, Kind.TRIP: Trip, Kind.EVENT: DeviceEvent}


def character(kind: str, habit: str | None = None, **more: Any) -> Character:
    return Character(number=3, device=kind, style="ordinary", plate="SIM-00003", habit=habit, **more)


def steps(who: Character, journeys: Journeys = JOURNEYS) -> list[Step]:
    return list(itinerary.steps(who, journeys, base_ms=BASE_MS))


@functools.cache
def messages(who: Character, journeys: Journeys = JOURNEYS) -> list[Message]:
    return [step for step in steps(who, journeys) if isinstance(step, Message)]


def readings(message: Message, kind: str) -> list[Reading]:
    return device_publish.read(message.topic, message.body, received_ms=END_MS, sensor_type=kind, max_items=1_000)


def read(who: Character, journeys: Journeys = JOURNEYS) -> list[Reading]:
    return [reading for message in messages(who, journeys) for reading in readings(message, who.device)]


def samples_of(found: list[Reading]) -> list[Any]:
    return [each for one in found if isinstance(one, Microtrip) for each in samples.RECORD.iter_unpack(one.samples)]


@pytest.mark.parametrize("kind", TYPES)
def test_every_message_of_a_type_is_read_as_what_it_is_meant_to_be(kind: str) -> None:
    seen: Counter[Kind] = Counter()
    for message in messages(character(kind)):
        [reading] = readings(message, kind)
        assert type(reading) is KINDS[message.kind]
        assert reading.device_type == kind
        seen[message.kind] += 1

    assert seen[Kind.TRIP] == (4 if kind == "BLACKBOX" else 2)
    assert seen[Kind.MICROTRIP] > 100
    assert (seen[Kind.EVENT] > 0) == bool(incidents.EVENTS[kind])


def test_every_event_number_of_the_tables_is_reported_by_somebody() -> None:
    often = replace(JOURNEYS, events_per_hour=3_600)

    numbers = {one.ty for kind in TYPES for one in read(character(kind), often) if isinstance(one, DeviceEvent)}

    assert numbers == set(range(101, 117))


@pytest.mark.parametrize("kind", TYPES)
def test_samples_have_their_own_times_and_places_and_nothing_lies_ahead(kind: str) -> None:
    found = read(character(kind))

    records = [record for record in samples_of(found) if not record[5] & samples.FLAG_PARKING]
    assert all(record[5] & samples.FLAG_OWN_TIME for record in records)
    assert all(37 < record[1] < 38 and 126 < record[2] < 128 for record in records)
    times = [record[0] for record in samples_of(found)]
    assert BASE_MS <= min(times) < max(times) <= END_MS


@pytest.mark.parametrize("kind", TYPES)
def test_aggregates_carry_the_same_samples_in_fewer_messages(kind: str) -> None:
    single, together = read(character(kind)), read(character(kind), replace(JOURNEYS, aggregate=10))

    assert len(samples_of(together)) == pytest.approx(len(samples_of(single)), abs=12)
    assert len(together) < len(single) / 2


def test_black_box_records_its_parking_after_each_drive() -> None:
    trips = [one for one in read(character("BLACKBOX")) if isinstance(one, Trip)]

    assert [trip.parking for trip in trips] == [False, True, False, True]
    assert trips[0].tid == trips[1].tid
    assert trips[1].tid != trips[2].tid


def test_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    bodies = [message.body for message in messages(character("OBD", seed=5))]

    assert bodies == [message.body for message in messages(character("OBD", seed=5))]
    assert bodies != [message.body for message in messages(character("OBD", seed=6))]


def test_packed_messages_say_the_same_with_floats_of_32_bits() -> None:
    plain, packed = samples_of(read(character("GPS"))), samples_of(read(character("GPS", packed=True)))

    assert all(message.topic == topics.TRE_MSGPACK for message in messages(character("GPS", packed=True)))
    assert [record[0] for record in packed] == [record[0] for record in plain]
    assert [record[1] for record in packed] == pytest.approx([record[1] for record in plain], abs=1e-5)
    assert [record[1] for record in packed] != [record[1] for record in plain]


def test_connections_are_lost_as_often_in_each_drive_as_asked() -> None:
    cuts = [step for step in steps(character("GPS"), replace(JOURNEYS, reconnects=3)) if isinstance(step, Cut)]

    assert len(cuts) == 6
    assert not any(cut.for_good for cut in cuts)


def test_halted_drive_ends_where_it_is_with_its_trip_message() -> None:
    found: list[Kind] = []
    for step in itinerary.steps(character("GPS"), JOURNEYS, base_ms=BASE_MS, halted=lambda: len(found) >= 50):
        assert isinstance(step, Message)
        found.append(step.kind)

    assert found == [Kind.MICROTRIP] * 50 + [Kind.TRIP]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("habit", HABITS)
def test_habit_makes_exactly_the_records_that_the_books_expect(habit: str, kind: str) -> None:
    if kind not in HABITS[habit].types:
        return
    for message in messages(character(kind, habit), SHORT):
        found = readings(message, kind)
        if message.kept or message.again:
            assert [type(one) for one in found] == [KINDS[message.kind]], message.body
            assert found[0].device_type == kind  # type: ignore[union-attr]
        else:
            assert [one.reason for one in found if isinstance(one, Rejected)] == ["not_json"]


def fields(message: Message) -> dict[str, Any]:
    whole: dict[str, Any] = msgspec.json.decode(message.body)
    return whole


def first(habit: str, kind: str, sort: Kind = Kind.MICROTRIP) -> Message:
    return next(message for message in messages(character(kind, habit)) if message.kind is sort)


def test_habit_numeric_strings_sends_no_number_but_the_header_time() -> None:
    whole = fields(first("numeric-strings", "OBD"))

    assert whole["ty"] == "4"
    assert all(isinstance(value, str) for value in whole["pld"].values())


def test_habit_seconds_reads_the_same_times() -> None:
    plain, bent = samples_of(read(character("GPS"))), samples_of(read(character("GPS", "seconds")))

    assert fields(first("seconds", "GPS"))["pld"]["clt"] < 10**10
    assert [record[0] for record in bent] == [record[0] // 1_000 * 1_000 for record in plain]


def test_habit_calendar_reads_the_same_times() -> None:
    plain, bent = samples_of(read(character("GPS"))), samples_of(read(character("GPS", "calendar")))

    assert len(str(fields(first("calendar", "GPS"))["pld"]["clt"])) == 14
    assert [record[0] for record in bent] == [record[0] // 1_000 * 1_000 for record in plain]


@pytest.mark.parametrize("habit", ["nine-hours-ahead", "clock-digits", "far-future", "no-ts"])
def test_habit_of_a_wrong_header_time_leaves_the_samples_own_times(habit: str) -> None:
    plain, bent = samples_of(read(character("GPS"))), samples_of(read(character("GPS", habit)))

    assert bent == plain
    assert fields(first(habit, "GPS")).get("ts") != fields(first("retained", "GPS"))["ts"]


def test_habit_no_clt_takes_the_header_time_and_one_sample_of_an_aggregate() -> None:
    found = read(character("GPS", "no-clt"), replace(JOURNEYS, aggregate=5))

    usable = [record for record in samples_of(found) if record[5] & samples.FLAG_OWN_TIME]
    assert len(usable) == sum(isinstance(one, Microtrip) for one in found)


def flags(habit: str | None) -> list[int]:
    who = replace(character("OBD", habit), style="aggressive")
    return [record[4] for record in samples_of(read(who))]


def test_habits_of_em_are_read_as_its_hexadecimal_digits() -> None:
    assert any(flags(None))
    assert flags("em-prefix") == flags("em-digits") == flags(None)
    assert set(flags("em-zero")) == {0}
    assert isinstance(fields(first("em-digits", "OBD"))["pld"]["em"], int)


def test_habit_obd_as_gps_is_an_obd_trip_under_the_number_sent() -> None:
    numbers = {one.ty for one in read(character("OBD", "obd-as-gps")) if isinstance(one, Microtrip | Trip)}

    assert numbers == {1, 2}


def test_habit_old_events_are_read_under_their_new_numbers() -> None:
    events = [one for one in read(character("OBD", "old-events")) if isinstance(one, DeviceEvent)]

    assert {event.ty for event in events} <= set(range(101, 107))
    assert all(
        20 <= fields(one)["ty"] <= 26 for one in messages(character("OBD", "old-events")) if one.kind is Kind.EVENT
    )


def test_habit_headerless_uses_the_two_withdrawn_topics() -> None:
    sent = [one for one in messages(character("OBD", "headerless")) if one.kind is Kind.EVENT]

    assert {one.topic for one in sent} == {topics.TELEMETRY, topics.ATTRIBUTES}
    assert all("pld" not in fields(one) for one in sent)
    assert not all(one.recognised for one in sent)


def test_habit_other_names_keeps_positions_and_numbers() -> None:
    plain = [one for one in read(character("OBD")) if isinstance(one, DeviceEvent)]
    bent = [one for one in read(character("OBD", "other-names")) if isinstance(one, DeviceEvent)]

    assert [(one.lat, one.tid, one.ty) for one in bent] == [(one.lat, one.tid, one.ty) for one in plain]
    assert any(b"dCWlat" in one.payload for one in bent)


def test_habit_impossible_places_loses_the_position_of_every_fifth_message() -> None:
    places = [record[1] == record[1] for record in samples_of(read(character("GPS", "impossible-places")))]

    assert 0.15 < places.count(False) / len(places) < 0.25


def test_habit_trailing_comma_makes_no_record_of_every_tenth_message() -> None:
    sent = [one for one in messages(character("GPS", "trailing-comma")) if one.kind is Kind.MICROTRIP]

    assert sum(one.kept == 0 for one in sent) == pytest.approx(len(sent) / 10, abs=1)


def test_habits_of_packing_say_the_same_as_plain_json() -> None:
    plain = [record[0] for record in samples_of(read(character("GPS")))]

    assert [record[0] for record in samples_of(read(character("GPS", "packed-elsewhere")))] == plain
    assert [record[0] for record in samples_of(read(character("GPS", "packed-in-digits")))] == plain
    assert first("packed-elsewhere", "GPS").topic == topics.TRE
    assert first("packed-in-digits", "GPS").body.isascii()


def test_habits_of_publishing_set_the_flags() -> None:
    assert first("retained", "GPS").retain
    assert (first("qos-0", "GPS").qos, first("qos-0", "GPS", Kind.TRIP).qos) == (0, 1)


def test_habit_twice_sends_each_message_again_for_no_record() -> None:
    sent = messages(character("GPS", "twice"))

    assert [one.body for one in sent[::2]] == [one.body for one in sent[1::2]]
    assert [(one.kept, one.again) for one in sent[:2]] == [(1, False), (0, True)]


def test_habit_array_of_one_and_extra_header_change_the_form_alone() -> None:
    assert len(fields(first("array-of-one", "GPS"))["pld"]) == 1
    assert {"sid", "ap", "try"} < fields(first("extra-header", "BLACKBOX")).keys()


def test_habit_unplugged_ends_the_last_drive_without_a_trip_message() -> None:
    all_steps = steps(character("GPS", "unplugged"))

    last = all_steps[-1]
    assert isinstance(last, Cut)
    assert (last.for_good, last.tidy) == (True, False)
    assert sum(isinstance(step, Message) and step.kind is Kind.TRIP for step in all_steps) == 1


def test_every_habit_says_what_it_does_and_how_it_is_read() -> None:
    assert all(habit.does and habit.read for habit in HABITS.values())
    assert HABITS["shared-client-id"].client_id
