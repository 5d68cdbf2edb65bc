"""Outcomes of a carrier's actions: a refusal comes back as the data that it was."""

import pytest
from tests.support import rows

from tripline.domain import lines, sensors
from tripline.domain.ids import UserId
from tripline.domain.line_actions import Outcome
from tripline.domain.refusals import BadParameter
from tripline.language.catalogue import Language, sentence
from tripline.store.lines import actions as carrier_actions

ACCOUNT = UserId("11111111-1111-1111-8111-111111111111")


@pytest.mark.parametrize(
    "refusal",
    [
        sensors.serial_taken("가 'x' {y}"),
        lines.WrongState("needs", status="01", event=lines.LineEvent.UNPAUSE, possible=("02", "03")),
        BadParameter("type", field="mdn", expected=("text",), got="a number"),
        lines.LineBusy("under_way"),
    ],
)
def test_refusal_is_kept_as_data_and_told_in_each_language_again(refusal):
    with rows.memory() as tx:
        outcome = Outcome("1", refused=refusal)
        carrier_actions.add(tx, ACCOUNT, content="c", outcome=outcome, now_ms=1)
        found = carrier_actions.find(tx, ACCOUNT, "1")

    assert found is not None
    again = found[1].refused
    assert type(again) is type(refusal)
    assert again.case == refusal.case
    assert again.field == refusal.field
    assert again.values == refusal.values
    assert [sentence(again, each) for each in Language] == [sentence(refusal, each) for each in Language]
