"""Lists of messages that wait, were given up, or were delivered unconfirmed."""

import pytest
from tests.support import rows

from tripline.domain.ids import CompanyId, RowNo, SensorId
from tripline.domain.pushes import Channel, State
from tripline.store.push import messages, outbox
from tripline.store.push import queue as push_queue
from tripline.store.push.outbox import Waiting
from tripline.store.push.queue import Result

SENSOR = SensorId("c4d91e60-c801-11ef-9d5c-6b1f6f2a4c11")
A, B = CompanyId("a"), CompanyId("b")
NOTIFY, RPC = Channel.NOTIFY, Channel.RPC_NOTIFY


@pytest.fixture
def tx():
    """Messages 1 to 12 of company A on both channels by turns, some given up or unconfirmed; 13 is B's."""
    with rows.memory() as tx:
        channels = {no: RPC if no % 2 else NOTIFY for no in range(1, 13)}
        mine = [Waiting(RowNo(no), f"id {no}", A, SENSOR, 2, b"{}", 7, channel) for no, channel in channels.items()]
        outbox.add(tx, [*mine, Waiting(RowNo(13), "id 13", B, SENSOR, 2, b"{}", 7)])
        push_queue.settle(
            tx,
            delivered=[],
            postponed=[Result(RowNo(1), 3, 99, "HTTP status 500.")],
            parked=[Result(RowNo(no), 5, 50, "HTTP status 404.") for no in (5, 6, 7, 8)],
            unconfirmed=[Result(RowNo(no), 2, 60, "x") for no in (9, 10)],
        )
        yield tx


def numbers(tx, state, *, company_id=A, after=None, limit=10):
    return [each.no for each in messages.page(tx, company_id, state, after=after, limit=limit)]


@pytest.mark.parametrize(
    ("state", "found"),
    [(State.WAITING, [1, 2, 3, 4, 11, 12]), (State.PARKED, [8, 7, 6, 5]), (State.UNCONFIRMED, [10, 9])],
)
def test_messages_of_both_channels_are_listed_by_state(tx, state, found):
    assert numbers(tx, state) == found
    assert numbers(tx, state, limit=2) == found[:2]
    assert numbers(tx, state, after=found[0], limit=2) == found[1:3]
    assert numbers(tx, state, after=found[-1]) == []


def test_another_companys_messages_are_not_listed(tx):
    assert numbers(tx, State.WAITING, company_id=B) == [13]
    assert numbers(tx, State.PARKED, company_id=B) == []


def test_message_tells_what_came_of_it(tx):
    first = messages.page(tx, A, State.WAITING, after=None, limit=1)[0]
    given_up = messages.page(tx, A, State.PARKED, after=None, limit=1)[0]

    assert (first.channel, first.attempts, first.due_ms, first.parked_ms) == (RPC, 3, 99, None)
    assert (first.last_error, first.serial_no, first.sensor_id, first.selector) == ("HTTP status 500.", None, SENSOR, 2)
    assert (given_up.channel, given_up.attempts, given_up.parked_ms) == (NOTIFY, 5, 50)


@pytest.mark.sqlite("how SQLite finds rows")
@pytest.mark.parametrize("state", list(State))
def test_page_is_read_by_index_without_sorting(tx, state):
    with rows.statements(tx) as run:
        messages.page(tx, A, state, after=None, limit=5)

    plans = [step[3] for sql in run for step in rows.plan(tx, sql)]
    assert [step for step in plans if "TEMP B-TREE" in step or step.startswith("SCAN")] == []
