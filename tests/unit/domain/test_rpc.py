"""States of calls: every pair of state and event, and what counts of what devices answer."""

from itertools import product

import pytest
from msgspec.structs import replace

from tripline.domain import rpc
from tripline.domain.ids import CompanyId, RequestId, RowNo, SensorId
from tripline.domain.rpc import Call, CallEvent, State

CALL = Call(
    no=RowNo(1),
    id=RequestId("6f1f3c10-c7a4-11ef-8a3e-5f0c5d2b9a71"),
    sensor_id=SensorId("s"),
    company_id=CompanyId("c"),
    vehicle_id=None,
    user_id=None,
    activation=False,
    method="reset",
    state=State.REQUESTED,
    deadline_ms=20_000,
)
TABLE = {
    State.REQUESTED: (State.ACKED, State.DONE, State.FAILED, State.TIMEOUT, State.FAILED, State.FAILED),
    State.ACKED: (None, State.DONE, State.FAILED, None, None, State.FAILED),
    State.DONE: (State.DONE, None, None, None, None, None),
    State.FAILED: (State.FAILED, State.DONE, State.FAILED, None, None, None),
    State.TIMEOUT: (State.TIMEOUT, State.DONE, State.FAILED, None, None, None),
}
"""By hand: what each event leads to, in the order of `Event`."""


@pytest.mark.parametrize(("state", "event"), list(product(State, CallEvent)))
def test_transition_is_the_one_of_the_table(state, event):
    assert rpc.NEXT.get((state, event)) is TABLE[state][list(CallEvent).index(event)]


@pytest.mark.parametrize(
    ("code", "worked"), [(1999, False), (2000, True), (2999, True), (3000, False), (4000, False), (None, False)]
)
def test_code_is_success_from_2000_to_2999(code, worked):
    assert rpc.is_success(code) is worked


def test_first_acknowledgement_wins_r3():
    first = rpc.acknowledged(CALL, code=2000, at_ms=5)

    assert first == replace(CALL, state=State.ACKED, response_ms=5, response_code=2000)
    assert rpc.acknowledged(first, code=4000, at_ms=6) is None


def test_acknowledgement_after_the_time_out_is_kept_r5():
    late = rpc.acknowledged(rpc.ended(CALL, CallEvent.NO_ACK), code=2000, at_ms=30_000)

    assert (late.state, late.response_ms, late.result_code) == (State.TIMEOUT, 30_000, 5001)


def test_result_without_acknowledgement_concludes_the_call_r6():
    done = rpc.concluded(CALL, code=2000, at_ms=5)

    assert done == replace(CALL, state=State.DONE, result_ms=5, result_code=2000)
    assert rpc.acknowledged(done, code=2000, at_ms=6) == replace(done, response_ms=6, response_code=2000)


@pytest.mark.parametrize(("code", "state"), [(2000, State.DONE), (4002, State.FAILED), (None, State.FAILED)])
def test_result_decides_whether_the_call_worked_b5(code, state):
    acked = rpc.acknowledged(CALL, code=2000, at_ms=1)

    assert rpc.concluded(acked, code=code, at_ms=2).state is state


def test_first_result_with_a_code_wins_r4():
    without = rpc.concluded(CALL, code=None, at_ms=1)
    counts = rpc.concluded(without, code=2000, at_ms=2)

    assert (counts.state, counts.result_ms, counts.result_code) == (State.DONE, 2, 2000)
    assert rpc.concluded(without, code=None, at_ms=2) is None
    assert rpc.concluded(counts, code=4000, at_ms=3) is None


@pytest.mark.parametrize("event", list(rpc.PLATFORM_CODES))
def test_result_of_a_call_that_the_platform_ended_counts(event):
    ended = rpc.ended(CALL, event)

    assert ended.result_code == rpc.PLATFORM_CODES[event]
    assert rpc.concluded(ended, code=2000, at_ms=9).state is State.DONE


def test_call_that_was_acknowledged_does_not_time_out():
    assert rpc.ended(rpc.acknowledged(CALL, code=None, at_ms=1), CallEvent.NO_ACK) is None
