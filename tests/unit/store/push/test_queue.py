"""Rows of the push outbox as the pusher reads them: by index however much waits, and each receiver's by number."""

import pytest
from tests.support import outbox, rows
from tests.support.outbox import Waiting

from tripline.domain.ids import CompanyId, RowNo, SensorId
from tripline.domain.pushes import Channel
from tripline.store.push import parked as push_parked
from tripline.store.push import queue as push_queue
from tripline.store.push.parked import Backlog, Which
from tripline.store.push.queue import Result

SENSOR = SensorId("c4d91e60-c801-11ef-9d5c-6b1f6f2a4c11")
A, B = CompanyId("a"), CompanyId("b")
NOTIFY, RPC = Channel.NOTIFY, Channel.RPC_NOTIFY


def waiting(no, company_id=A, channel=NOTIFY):
    return Waiting(RowNo(no), f"id {no}", company_id, SENSOR, 2, b"{}", 0, channel)


@pytest.fixture
def tx():
    with rows.memory() as tx:
        yield tx


def numbers(tx, key, *, after=0, limit=10):
    return [row.no for row in push_queue.rows(tx, key, after=after, limit=limit)]


def test_receivers_are_found_whatever_waits(tx):
    assert push_queue.receivers(tx) == []
    outbox.add(tx, [waiting(1), waiting(2), waiting(3, channel=RPC), waiting(4, B), waiting(5, A), waiting(6, B, RPC)])
    push_queue.settle(tx, delivered=[], postponed=[], parked=[Result(RowNo(6), 1, 0, "x")])

    assert push_queue.receivers(tx) == [(A, NOTIFY), (A, RPC), (B, NOTIFY)]


@pytest.mark.parametrize(
    ("after", "expected"),
    [(0, (4, [(A, NOTIFY), (B, RPC)])), (2, (4, [(A, NOTIFY)])), (3, (4, [])), (4, (4, [])), (9, (9, []))],
)
def test_newcomers_are_those_behind_a_number(tx, after, expected):
    outbox.add(tx, [waiting(1), waiting(2, B, RPC), waiting(3), waiting(4)])
    push_queue.settle(tx, delivered=[], postponed=[], parked=[Result(RowNo(4), 1, 0, "x")])

    assert push_queue.newcomers(tx, after) == expected


def test_rows_of_a_receiver_come_by_number(tx):
    outbox.add(tx, [waiting(no, A if no % 2 else B) for no in range(1, 12)])
    push_queue.settle(tx, delivered=[RowNo(3)], postponed=[], parked=[Result(RowNo(5), 1, 0, "x")])

    assert numbers(tx, (A, NOTIFY)) == [1, 7, 9, 11]
    assert numbers(tx, (A, NOTIFY), after=7) == [9, 11]
    assert numbers(tx, (A, NOTIFY), limit=2) == [1, 7]
    assert numbers(tx, (A, RPC)) == []


def test_end_of_an_attempt_is_written_down(tx):
    outbox.add(tx, [waiting(no) for no in (1, 2, 3)])

    error = "x" * 300
    push_queue.settle(
        tx,
        delivered=[RowNo(1)],
        postponed=[Result(RowNo(2), 4, 77, error)],
        parked=[Result(RowNo(3), 5, 88, error)],
    )

    (row,) = push_queue.rows(tx, (A, NOTIFY), after=0, limit=9)
    assert (row.no, row.attempts, row.due_ms) == (2, 4, 77)
    (parked,) = push_parked.listed(tx, Which(), limit=9)
    assert (parked.no, parked.attempts, parked.parked_ms, parked.last_error) == (3, 5, 88, "x" * 255)
    assert [push_queue.content(tx, RowNo(no)) is None for no in (1, 2, 3)] == [True, False, True]


def test_what_waits_is_parked_up_to_a_number_some_at_a_time(tx):
    outbox.add(tx, [waiting(no) for no in range(1, 6)] + [waiting(6, B)])

    def park():
        return push_queue.park_waiting(tx, (A, NOTIFY), before_no=5, error="gone", now_ms=9, limit=3)

    assert [park(), park(), park()] == [3, 1, 0]
    assert numbers(tx, (A, NOTIFY)) == [5]
    assert numbers(tx, (B, NOTIFY)) == [6]


@pytest.mark.sqlite("how SQLite finds rows")
def test_statements_of_the_pusher_look_at_no_more_than_they_need(tx):
    statements = {
        name: statement for name, statement in vars(push_queue).items() if isinstance(statement, push_queue.Hot)
    }
    plans = {}
    for name, statement in statements.items():
        sql, order, _ = statement.compiled(tx.connection.dialect)
        steps = tx.connection.connection.driver_connection.execute(f"EXPLAIN QUERY PLAN {sql}", (0,) * len(order))
        plans[name] = [step[3] for step in steps]

    assert len(plans) == 6
    assert [
        name for name, steps in plans.items() if any("SCAN" in step or "TEMP B-TREE" in step for step in steps)
    ] == []


def test_backlogs_are_told_by_receiver_with_what_is_wrong_the_longest_waiting_first(tx):
    outbox.add(tx, [waiting(1), waiting(2, B), waiting(3, B), waiting(4, B, RPC), waiting(5)])
    failed = [Result(RowNo(2), 3, 0, "HTTP status 500."), Result(RowNo(3), 1, 0, "No status line came in time.")]
    push_queue.settle(tx, delivered=[], postponed=failed, parked=[Result(RowNo(5), 1, 0, "HTTP status 410.")])

    assert push_parked.backlogs(tx) == [
        Backlog(A, None, NOTIFY, 1, RowNo(1), None),
        Backlog(B, None, NOTIFY, 2, RowNo(2), "HTTP status 500."),
        Backlog(B, None, RPC, 1, RowNo(4), None),
    ]


@pytest.mark.parametrize(("before", "told"), [(0, "x"), (99, "x"), (100, None)])
def test_error_is_looked_for_among_those_that_wait_longest(tx, before, told):
    outbox.add(tx, [waiting(no) for no in range(1, before + 3)])
    push_queue.settle(tx, delivered=[], postponed=[Result(RowNo(before + 1), 1, 0, "x")], parked=[])

    assert push_parked.waiting_error(tx, A) == told
    assert push_parked.waiting_error(tx, A, [RPC]) is None
