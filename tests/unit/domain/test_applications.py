"""The bounds of an application, and the decision on it."""

import pytest
from tests.support.refused import refused

from tripline.domain import applications
from tripline.domain.applications import NEXT, AlreadyDecided, Decision, State
from tripline.domain.fields import NotAllowed, TooLong, Unprintable, WrongForm
from tripline.domain.refusals import BadParameter

FORM = {
    "service_name": "Safety",
    "company_name": "Hanbit",
    "contact_name": "Kim",
    "mobile": "010",
    "email": "kim@x.example",
    "introduction": "line\nline",
}
NONE = {"department": None, "provider_manager_name": None, "provider_manager_email": None, "notify_host": None}


def test_application_keeps_what_was_sent() -> None:
    sent = {**FORM, "department": "D", "provider_manager_name": "L", "provider_manager_email": "l@y.example"}

    assert applications.form(**sent, notify_host="h") == applications.Form(**sent, notify_host="h")  # type: ignore[arg-type]


def test_optional_fields_may_be_left_out() -> None:
    assert applications.form(**FORM) == applications.Form(**FORM, **NONE)  # type: ignore[arg-type]


def test_empty_texts_come_back_as_sent() -> None:
    empty = dict.fromkeys(NONE, "")

    assert applications.form(**FORM, **empty) == applications.Form(**FORM, **empty)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", list(FORM))
@pytest.mark.parametrize("value", [None, "", " "])
def test_required_field_that_says_nothing_is_named(name: str, value: str | None) -> None:
    published = "".join(part.capitalize() if n else part for n, part in enumerate(name.split("_")))

    with refused(BadParameter, match=f"Parameter '{published}' can't be empty!"):
        applications.form(**{**FORM, name: value})


@pytest.mark.parametrize(
    ("name", "value", "refusal"),
    [
        ("email", "kim", WrongForm),
        ("provider_manager_email", "lee", WrongForm),
        ("contact_name", "Kim\r\nBcc: x@y", Unprintable),
        ("service_name", "x" * 256, TooLong),
        ("introduction", "x" * 4097, TooLong),
        ("introduction", "a\x00b", Unprintable),
    ],
)
def test_value_of_the_wrong_form_is_refused(name: str, value: str, refusal: type[BadParameter]) -> None:
    with pytest.raises(refusal):
        applications.form(**{**FORM, name: value})


@pytest.mark.parametrize(("name", "longest"), [("service_name", 255), ("introduction", 4096)])
def test_longest_text_is_taken(name: str, longest: int) -> None:
    assert getattr(applications.form(**{**FORM, name: "x" * longest}), name) == "x" * longest


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("decision", Decision)
def test_only_a_submitted_application_is_decided(state: State, decision: Decision) -> None:
    expected = {Decision.APPROVE: State.APPROVED, Decision.REJECT: State.REJECTED}[decision]
    if state is State.SUBMITTED:
        assert applications.decided(state, decision) is expected
    else:
        with pytest.raises(AlreadyDecided):
            applications.decided(state, decision)


def test_decided_states_lead_nowhere() -> None:
    assert {state for state, _ in NEXT} == {State.SUBMITTED}


def test_state_is_found_by_its_name() -> None:
    assert [applications.state_named(text) for text in (None, "", "APPROVED")] == [None, None, State.APPROVED]
    with pytest.raises(NotAllowed):
        applications.state_named("approved")
