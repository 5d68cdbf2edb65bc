"""The bounds of a person's registration and of its changes."""

import pytest
from msgspec.structs import replace
from tests.support.refused import refused

from tripline.domain import fields, people
from tripline.domain.access import Authority
from tripline.domain.ids import UserId
from tripline.domain.refusals import BadParameter

SENT = {"name": "Park", "email": "park@ace.example", "phone": "010-1234", "password": "secret"}


def test_registration_keeps_what_was_sent():
    assert people.registration(**SENT) == people.Registration(**SENT)


def test_phone_is_optional_free_text():
    assert people.registration(**{**SENT, "phone": None}).phone is None
    assert people.registration(**{**SENT, "phone": "(+82) ext. 7"}).phone == "(+82) ext. 7"


@pytest.mark.parametrize("field", ["name", "email", "password"])
@pytest.mark.parametrize("value", [None, "", " "])
def test_required_field_missing_is_refused_by_name(field, value):
    with refused(BadParameter, match=f"^Parameter '{field}' can't be empty!$"):
        people.registration(**{**SENT, field: value})


@pytest.mark.parametrize("field", ["name", "phone", "password"])
def test_g5_each_text_holds_255_characters(field):
    people.registration(**{**SENT, field: "가" * 255})

    with refused(fields.TooLong, match=f"'{field}' must have at most 255 characters"):
        people.registration(**{**SENT, field: "가" * 256})


USER = people.User(
    id=UserId("5b6f9c10-c801-11ef-9d5c-6b1f6f2a4c11"),
    created_ms=1,
    company_id=None,
    name="Park",
    phone="010-1234",
    vehicle_id=None,
    latest_trip_id=None,
    email="park@ace.example",
    authority=Authority.DRIVER,
    additional_info=None,
    password_updated_ms=1,
    enabled=True,
)
AS_IT_WAS = people.Change(name="Park", email="park@ace.example", phone="010-1234", password=None)


@pytest.mark.parametrize(
    ("named", "outcome"),
    [
        ({}, AS_IT_WAS),
        ({"name": "Han"}, replace(AS_IT_WAS, name="Han")),
        ({"email": "han@ace.example"}, replace(AS_IT_WAS, email="han@ace.example")),
        ({"phone": ""}, replace(AS_IT_WAS, phone="")),
        ({"phone": None}, replace(AS_IT_WAS, phone=None)),
        ({"password": "another"}, replace(AS_IT_WAS, password="another")),
        ({"password": None}, AS_IT_WAS),
    ],
)
def test_change_replaces_what_is_named_alone(named, outcome):
    assert people.changed(USER, named) == outcome


@pytest.mark.parametrize("field", ["name", "email"])
@pytest.mark.parametrize("value", [None, "", " "])
def test_change_clears_no_required_field(field, value):
    with refused(BadParameter, match=f"^Parameter '{field}' can't be empty!$"):
        people.changed(USER, {field: value})


@pytest.mark.parametrize("password", ["", " "])
def test_change_to_an_empty_password_is_refused(password):
    with refused(BadParameter, match=r"^Parameter 'password' can't be empty!$"):
        people.changed(USER, {"password": password})


@pytest.mark.parametrize("field", ["name", "phone", "password"])
def test_g5_bounds_hold_in_a_change_too(field):
    assert getattr(people.changed(USER, {field: "가" * 255}), field) == "가" * 255

    with refused(fields.TooLong, match=f"'{field}' must have at most 255 characters"):
        people.changed(USER, {field: "가" * 256})


def test_g5_email_form_holds_in_a_change_too():
    with refused(fields.WrongForm, match="'email'"):
        people.changed(USER, {"email": "park"})


def test_own_email_and_password_are_not_changed_with_the_record():
    with refused(people.OwnCredentials, match="changePassword"):
        people.refuse_own_credentials(USER, replace(AS_IT_WAS, password="another"))
    with refused(people.OwnCredentials, match="administrator"):
        people.refuse_own_credentials(USER, replace(AS_IT_WAS, email="han@ace.example"))

    people.refuse_own_credentials(USER, replace(AS_IT_WAS, name="Han", phone=None))
