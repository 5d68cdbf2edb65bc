"""One session a sensor."""

from dataclasses import dataclass, field

import pytest

from tripline.domain import ids
from tripline.domain.ids import SensorId
from tripline.gateway.roster import Roster

ONE, TWO = SensorId("one"), SensorId("two")


@dataclass(eq=False)
class Session:
    """A session that remembers why it was ended."""

    session_no: int = 0
    ended: list[str] = field(default_factory=list)
    seen_ms: int = 0

    def publish(self, topic, body, *, qos):
        return 0

    def end(self, reason):
        self.ended.append(reason)


def test_newer_session_ends_the_older_of_the_same_sensor_only():
    roster, older, other, newer = Roster(), Session(), Session(), Session()
    roster.enter(ONE, older)
    roster.enter(TWO, other)

    roster.enter(ONE, newer)

    assert (older.ended, other.ended, newer.ended) == (["taken_over"], [], [])
    assert (roster.find(ONE), roster.find(TWO), len(roster)) == (newer, other, 2)


def take_over(seconds):
    """Sessions that take each other's place, each so many seconds after the one before."""
    roster, now_ms = Roster(), 1_790_000_000_000
    roster.enter(ONE, Session(ids.first_no(now_ms)))
    for pause_s in seconds:
        now_ms += round(pause_s * 1000)
        roster.enter(ONE, Session(ids.first_no(now_ms)))


@pytest.mark.parametrize(
    ("seconds", "times"),
    [([1] * 2, []), ([59.999] * 3, [3]), ([60] * 9, []), ([1, 1, 60, 1, 1], []), ([0.1] * 103, [3, 103])],
)
def test_two_devices_that_share_a_token_are_told_of_now_and_then(logged, seconds, times):
    take_over(seconds)

    told = [(each["event"], each["sensor"], each["times"]) for each in logged()]
    assert told == [("device.contended", ONE, each) for each in times]


def test_device_that_goes_and_comes_is_not_contended(logged):
    roster = Roster()
    for number in range(9):
        session = Session(ids.first_no(number))
        roster.enter(ONE, session)
        roster.leave(ONE, session)

    assert logged() == []


def test_older_session_that_leaves_late_does_not_remove_the_newer():
    roster, older, newer = Roster(), Session(), Session()
    roster.enter(ONE, older)
    roster.enter(ONE, newer)

    roster.leave(ONE, older)

    assert roster.find(ONE) is newer


def test_session_that_left_is_not_found():
    roster, session = Roster(), Session()
    roster.enter(ONE, session)

    roster.leave(ONE, session)

    assert (roster.find(ONE), len(roster)) == (None, 0)


def test_dropped_sensor_is_ended_with_the_reason_and_an_absent_one_is_no_trouble():
    roster, session = Roster(), Session()
    roster.enter(ONE, session)

    roster.drop(ONE, "sensor_deleted")
    roster.drop(TWO, "sensor_deleted")

    assert session.ended == ["sensor_deleted"]
