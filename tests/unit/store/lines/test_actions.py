"""Outcomes of a carrier's actions: a refusal comes back as the data that it was."""

import pytest
from sqlalchemy import insert
from tests.support import rows

from tripline.domain import lines, sensors
from tripline.domain.ids import UserId
from tripline.domain.line_actions import Outcome
from tripline.domain.refusals import BadParameter, NotFound
from tripline.language.catalogue import Language, sentence
from tripline.store.lines import actions as carrier_actions
from tripline.store.tables import carrier_action

ACCOUNT = UserId("11111111-1111-1111-8111-111111111111")


@pytest.mark.parametrize(
    "refusal",
    [
        sensors.serial_taken("가 'x' {y}"),
        lines.WrongState("needs", status="01", event=lines.LineEvent.UNPAUSE, possible=("02", "03")),
        BadParameter("type", field="mdn", expected=("text",), got="a number"),
        lines.busy(),
    ],
)
def test_refusal_is_kept_as_data_and_told_in_each_language_again(refusal):
    with rows.memory() as tx:
        outcome = Outcome("1", refused=refusal)
        carrier_actions.add(tx, ACCOUNT, content="c", outcome=outcome, now_ms=1)
        found = carrier_actions.find(tx, ACCOUNT, "1")

    assert found is not None
    again = found[1].refused
    assert (type(again), again.case, again.field, again.values) == (
        type(refusal),
        refusal.case,
        refusal.field,
        refusal.values,
    )
    assert [sentence(again, each) for each in Language] == [sentence(refusal, each) for each in Language]


def test_refusal_that_an_older_program_kept_as_a_sentence_is_told_as_it_was():
    said = "Parameter 'mdn': there is no line with the number 010."
    old = b'{"refused":"NOT_FOUND","message":"%s"}' % said.encode()
    with rows.memory() as tx:
        row = {"account_id": ACCOUNT, "action_id": "1", "created_ms": 1, "content": "c", "outcome": old}
        tx.run(insert(carrier_action), row)
        found = carrier_actions.find(tx, ACCOUNT, "1")

    assert found is not None
    assert isinstance(found[1].refused, NotFound)
    assert [sentence(found[1].refused, each) for each in Language] == [said, said]
