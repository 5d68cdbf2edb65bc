"""Reports on a device from one look to the next."""

import pytest
from msgspec.structs import replace
from tests.support import reference
from tests.support.device_messages import ITEM, TS, text

from tripline.domain import ids
from tripline.domain.ids import RowNo, SensorId
from tripline.gateway import connection, listener, roster
from tripline.mqtt import events
from tripline.scoring import quality
from tripline.scoring.quality import Quality
from tripline.scoring.score import NotScored
from tripline.services import device_check, presence, session_check
from tripline.services.device_check import (
    CallState,
    Listener,
    Look,
    ReportLine,
    Session,
    Traced,
    TripState,
    Watched,
)
from tripline.services.ingest import traces
from tripline.wire import topics
from tripline.wire.device.reasons import REASONS

NOW = 1_735_700_000_000
WATCHED = Watched(SensorId("s"), "GPS", True)
NOTHING = Look((), None, (), (), 0)
CONNECTED = Session(True, NOW, None)
TRIP = TripState(7, "t", 41, "OPEN", None, None)
CALL = CallState(9, "c", "reset", "REQUESTED", None)


def quality_of(ratio: float) -> bytes:
    return quality.written(Quality(samples=9, period_ms=1_000, speed_ratio=ratio))


def listener_from(first: Look = NOTHING, watched: Watched = WATCHED) -> Listener:
    return Listener(watched, first, max_items=10)


def traced(body: bytes, outcome: str = "kept", *, topic: str = topics.TRE, nth: int = 0) -> Traced:
    return Traced(RowNo(ids.first_no(NOW) + nth), topic, outcome, body)


def texts(told: list[ReportLine]) -> list[str]:
    return [each.text for each in told]


@pytest.mark.parametrize(
    ("first", "watched", "said"),
    [
        (NOTHING, WATCHED, ["listening to the sensor of type GPS", "the device has never connected"]),
        (
            replace(NOTHING, session=CONNECTED),
            replace(WATCHED, is_mapped=False),
            [
                "listening to the sensor of type GPS, not mounted on a vehicle: trips are kept and not scored",
                "connected",
            ],
        ),
        (
            replace(NOTHING, session=Session(False, NOW, "silent")),
            WATCHED,
            [
                "listening to the sensor of type GPS",
                "not connected; last time: silent: nothing came for one and a half times the keep-alive: send PINGREQ"
                " in time",
            ],
        ),
    ],
)
def test_beginning_says_how_things_stand(first, watched, said):
    assert texts(listener_from(first, watched).beginning(NOW)) == said


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (None, CONNECTED, ["connected"]),
        (CONNECTED, CONNECTED, []),
        (
            CONNECTED,
            replace(CONNECTED, changed_ms=NOW + 5),
            [f"connected again; {device_check.ENDINGS['taken_over']}"],
        ),
        (CONNECTED, Session(False, NOW + 5, "disconnected"), ["disconnected, disconnected: the device said goodbye"]),
        (Session(False, NOW, "lost"), Session(False, NOW + 5, "odd"), ["connected and disconnected, odd: see the log"]),
        (Session(False, NOW, "lost"), CONNECTED, ["connected"]),
    ],
)
def test_connection_is_told_when_it_changes(before, now, said):
    heard = listener_from(replace(NOTHING, session=before))

    told = texts(heard.told(replace(NOTHING, session=now), NOW))

    assert [each[: len(expected)] for each, expected in zip(told, said, strict=True)] == said


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ((), (TRIP,), ["trip t (number 41) opened"]),
        ((TRIP,), (TRIP,), []),
        ((TRIP,), (replace(TRIP, state="COMPLETE"),), ["trip t (number 41) ended by its trip message"]),
        ((TRIP,), (replace(TRIP, state="LAPSED", tid=None),), ["trip t ended without a trip message"]),
        (
            (TRIP,),
            (replace(TRIP, state="COMPLETE", not_scored="parking"),),
            ["trip t (number 41) ended by its trip message, not scored: the vehicle was parked (`try` 2)"],
        ),
        (
            (replace(TRIP, state="COMPLETE"),),
            (replace(TRIP, state="COMPLETE", not_scored="sparse"),),
            ["trip t (number 41): not scored: samples are 5 s apart or more: send one every 1 to 2 s"],
        ),
        *(
            (
                (replace(TRIP, state="COMPLETE"),),
                (replace(TRIP, state="COMPLETE", not_scored="speed_implausible", quality=kept),),
                [f"trip t (number 41): not scored: its speeds do not fit its positions: send `sp` in km/h{unit}"],
            )
            for kept, unit in (
                (None, ""),
                (quality_of(0.28), "; they look like metres per second"),
                (quality_of(0.62), "; they look like miles per hour"),
                (quality_of(0.54), "; they look like knots"),
                (quality_of(0.0), "; they are 0 while it drives"),
                (quality_of(1.4), ""),
            )
        ),
        (
            (replace(TRIP, state="COMPLETE"),),
            (replace(TRIP, state="COMPLETE", score=91.25),),
            ["trip t (number 41) scored 91.2"],
        ),
        ((TRIP,), (replace(TRIP, no=5, id="older"), TRIP), []),
    ],
)
def test_trip_is_told_when_it_changes(before, now, said):
    heard = listener_from(replace(NOTHING, trips=before))

    assert texts(heard.told(replace(NOTHING, trips=now), NOW)) == said


def test_call_is_told_at_each_step():
    heard = listener_from()

    steps = [
        CALL,
        CALL,
        replace(CALL, state="ACKED"),
        replace(CALL, state="DONE", result_code=2000),
    ]
    told = [texts(heard.told(replace(NOTHING, calls=(step,)), NOW)) for step in steps]

    assert told == [["call c (reset): requested"], [], ["call c (reset): acked"], ["call c (reset): done, code 2000"]]


def test_messages_are_told_in_the_order_of_time_with_what_happened_beside_them():
    heard = listener_from()
    look = replace(
        NOTHING,
        session=replace(CONNECTED, changed_ms=NOW - 1),
        trips=(TRIP,),
        messages=(traced(text(2, ITEM)),),
    )

    told = heard.told(look, NOW + 1)

    assert [each.kind for each in told] == ["connection", "message", "trip"]
    assert [each.at_ms for each in told] == [NOW - 1, NOW, NOW + 1]


@pytest.mark.parametrize("outcome", ["too_large", "unknown_call", "unknown_sensor", "internal", "surprise"])
def test_message_that_the_reader_never_judged_is_told_with_its_reason_alone(outcome):
    (told,) = listener_from().told(replace(NOTHING, messages=(traced(b"\xff", outcome),)), NOW)

    assert told.is_rejected
    assert [finding.text.partition(":")[0] for finding in told.findings] == [outcome]


def test_trace_that_is_full_is_told_as_a_note():
    (told,) = listener_from().told(replace(NOTHING, messages=(traced(b"", traces.NOT_TRACED),)), NOW)

    assert (told.kind, told.text) == ("note", device_check.OUTCOMES[traces.NOT_TRACED])


@pytest.mark.parametrize(
    ("period_ms", "count", "notes"), [(4_999, 5, 0), (5_000, 4, 0), (5_000, 5, 1), (5_001, 9, 1), (60_000, 30, 1)]
)
def test_samples_that_come_too_seldom_are_told_once(period_ms, count, notes):
    heard = listener_from()
    first_ms = TS - period_ms * count
    messages = [traced(text(2, {**ITEM, "clt": first_ms + n * period_ms}), nth=n) for n in range(count)]

    told = [each for message in messages for each in heard.told(replace(NOTHING, messages=(message,)), NOW)]

    assert [each.kind for each in told].count("note") == notes


def test_every_reason_that_the_program_has_is_put_into_words():
    endings = {
        *(events.DISCONNECTED, events.PROTOCOL_ERROR, events.REFUSED, events.FLOODED),
        *(connection.SLOW_READER, connection.SILENT, connection.OUTAGE, connection.BUG, connection.LOST),
        *(roster.TAKEN_OVER, session_check.CREDENTIAL_ENDED, listener.STOPPED, presence.SERVER_LOST),
    }

    assert endings <= set(device_check.ENDINGS)
    assert {str(reason) for reason in NotScored} | {"device_type", "unmapped", "parking"} <= set(
        device_check.NOT_SCORED
    )
    assert set(reference.REASONS) <= set(REASONS) | set(device_check.REFUSED)
