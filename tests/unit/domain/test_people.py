"""What a director's or driver's registration may say."""

import pytest

from tripline.domain import fields, people
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
    with pytest.raises(BadParameter, match=f"^Parameter '{field}' can't be empty!$"):
        people.registration(**{**SENT, field: value})


@pytest.mark.parametrize("field", ["name", "phone", "password"])
def test_g5_each_text_holds_255_characters(field):
    people.registration(**{**SENT, field: "가" * 255})

    with pytest.raises(fields.TooLong, match=f"'{field}' must have at most 255 characters"):
        people.registration(**{**SENT, field: "가" * 256})
