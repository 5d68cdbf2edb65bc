"""The bounds of a carrier's action: each at, below and above."""

import pytest
from tests.support.refused import refused

from tripline.domain import instants, line_actions
from tripline.domain.line_actions import LineAction, Type
from tripline.domain.lines import LineEvent
from tripline.domain.refusals import BadParameter

NUMBER = "01012345678"


def said(**fields):
    return line_actions.action(**{"type": "NUMBER_CHANGE", "mdn": NUMBER, "new_mdn": NUMBER, **fields})


@pytest.mark.parametrize("mdn", ["112", "9" * 31, "+82" + "1" * 29])
def test_number_of_3_to_31_digits_is_taken(mdn):
    assert said(mdn=mdn).mdn == mdn


@pytest.mark.parametrize("mdn", ["11", "9" * 32, "+", "+11", "010-123", " 0101", "٠١٠"])
def test_number_of_another_form_is_refused(mdn):
    with refused(BadParameter, match="'mdn' must be digits"):
        said(mdn=mdn)


@pytest.mark.parametrize(("imei", "taken"), [("3", True), ("3" * 32, True), ("3" * 33, False), ("a b", False)])
def test_device_numbers_are_at_most_32_letters_and_digits(imei, taken):
    fields = {"type": "DEVICE_CHANGE", "mdn": NUMBER, "new_imei": imei}
    if taken:
        assert line_actions.action(**fields).new_imei == imei
    else:
        with refused(BadParameter, match="'newImei' must be at most 32"):
            line_actions.action(**fields)


@pytest.mark.parametrize(
    ("at_ms", "taken"), [(0, True), (instants.LAST_MS, True), (-1, False), (instants.LAST_MS + 1, False)]
)
def test_time_is_an_instant_until_the_end_of_9999(at_ms, taken):
    if taken:
        assert said(occurred_time=at_ms).occurred_ms == at_ms
    else:
        with refused(BadParameter, match="'occurredTime' must be between"):
            said(occurred_time=at_ms)


@pytest.mark.parametrize(("value", "taken"), [("a", True), ("a" * 255, True), ("a" * 256, False), ("\x7f", False)])
def test_action_id_is_1_to_255_printable_characters(value, taken):
    if taken:
        assert line_actions.action_id(value) == value
    else:
        with refused(BadParameter, match="'actionId'"):
            line_actions.action_id(value)


def test_what_a_type_does_not_use_is_stated_or_refused():
    assert said(imei="not an imei", company_id="nobody", iccid="") == LineAction(
        type=Type.NUMBER_CHANGE,
        event=LineEvent.KEEP,
        mdn=NUMBER,
        new_mdn=NUMBER,
        stated=(("imei", "not an imei"), ("companyId", "nobody")),
    )
    with refused(BadParameter, match="'kind'"):
        said(kind="USE")


@pytest.mark.parametrize(
    ("type_", "kind", "event"),
    [
        ("SUSPENSION", "USE", LineEvent.SUSPEND_USE),
        ("SUSPENSION", "DORMANT", LineEvent.SUSPEND_DORMANT),
        ("SUSPENSION", "TERMINATION", LineEvent.SUSPEND_TO_END),
        ("TERMINATION", "ORDINARY", LineEvent.END),
        ("TERMINATION", "AUTHORITY", LineEvent.END_BY_AUTHORITY),
    ],
)
def test_kind_says_what_happens_to_the_line(type_, kind, event):
    assert line_actions.action(type=type_, kind=kind, mdn=NUMBER).event is event


@pytest.mark.parametrize(("type_", "kind"), [("SUSPENSION", "ORDINARY"), ("TERMINATION", "USE"), ("SUSPENSION", "use")])
def test_kind_of_another_type_is_refused(type_, kind):
    with refused(BadParameter, match="'kind' must be one of"):
        line_actions.action(type=type_, kind=kind, mdn=NUMBER)
