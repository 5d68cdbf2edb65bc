"""One session a sensor."""

from dataclasses import dataclass, field

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
