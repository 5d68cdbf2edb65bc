"""The lines at the end of a simulation."""

import io

import pytest
from rich.console import Console

from tripline.simulator import mix, summary
from tripline.simulator.books import Ledger
from tripline.simulator.drafts import Kind, Message
from tripline.simulator.summary import Driven

STORED = "Everything acknowledged is stored, once."


def said(*, failure: str | None = None, stored: int | None) -> list[str]:
    """The lines about a vehicle of which one microtrip was acknowledged, and the last line of all."""
    [character] = mix.characters([("GPS", "SIM-1")], styles={"calm": 1.0}, habits={"none": 1.0})
    ledger = Ledger()
    message = Message(due_s=0, kind=Kind.MICROTRIP, topic="t", body=b"")
    ledger.sent(message)
    ledger.acknowledged(message)
    ledger.failure = failure
    counts = None if stored is None else {Kind.MICROTRIP: stored, Kind.TRIP: 0, Kind.EVENT: 0}
    out = io.StringIO()
    summary.table(Console(file=out, width=120), [Driven(character, ledger, counts)])
    lines = out.getvalue().splitlines()
    return [line for line in lines if line.startswith("SIM-1")] + lines[-1:]


def test_device_that_gave_up_does_not_hide_that_everything_acknowledged_is_stored() -> None:
    assert said(failure="not activated: refused", stored=1) == ["SIM-1: not activated: refused", STORED]


@pytest.mark.parametrize("failure", [None, "not activated: refused"])
def test_what_is_acknowledged_and_not_stored_is_never_called_stored(failure: str | None) -> None:
    assert STORED not in said(failure=failure, stored=0)


def test_without_counting_nothing_is_said_to_be_stored() -> None:
    assert said(stored=None)[-1].startswith("Nothing stored was counted")
