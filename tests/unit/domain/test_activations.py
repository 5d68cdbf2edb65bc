"""The step of an activation, by its call."""

import pytest

from tripline.domain import activations, rpc
from tripline.domain.activations import UNDER_WAY, Step
from tripline.domain.rpc import CallEvent, State

CANCELLED = rpc.PLATFORM_CODES[CallEvent.CANCEL]
UNDELIVERED = rpc.PLATFORM_CODES[CallEvent.UNDELIVERABLE]
NO_ACK = rpc.PLATFORM_CODES[CallEvent.NO_ACK]


@pytest.mark.parametrize(
    ("state", "acknowledged", "result", "counts", "step"),
    [
        (State.REQUESTED, None, None, True, Step.REQUESTED),
        (State.REQUESTED, None, None, False, Step.SUPERSEDED),
        (State.ACKED, 2000, None, True, Step.ACKNOWLEDGED),
        (State.ACKED, None, None, True, Step.ACKNOWLEDGED),
        (State.ACKED, 4000, None, False, Step.REFUSED),
        (State.ACKED, 2000, None, False, Step.SUPERSEDED),
        (State.TIMEOUT, None, NO_ACK, True, Step.SILENT),
        (State.TIMEOUT, 2000, NO_ACK, True, Step.SILENT),
        (State.TIMEOUT, None, NO_ACK, False, Step.SUPERSEDED),
        (State.DONE, 2000, 2001, False, Step.DONE),
        (State.DONE, None, 2000, False, Step.DONE),
        (State.FAILED, 2000, 4000, False, Step.REFUSED),
        (State.FAILED, 2000, None, False, Step.REFUSED),
        (State.FAILED, None, UNDELIVERED, False, Step.UNDELIVERED),
        (State.FAILED, 2000, CANCELLED, False, Step.CANCELLED),
    ],
)
def test_step_follows_from_call_and_from_whether_it_counts(state, acknowledged, result, counts, step):
    assert activations.step(state, acknowledged=acknowledged, result=result, counts=counts) is step


def test_every_state_has_a_step_whether_it_counts_or_not():
    found = {
        activations.step(state, acknowledged=None, result=None, counts=counts)
        for state in State
        for counts in (True, False)
    }

    assert found >= UNDER_WAY
    assert Step.DONE not in UNDER_WAY
