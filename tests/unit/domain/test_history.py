"""Entries of history: fields before and after, and their ids."""

import pytest

from tripline.domain import fields, history
from tripline.domain.history import Change, Entry, Event
from tripline.domain.ids import RowNo, TimeIds
from tripline.domain.people import Registration


def person(**named):
    return Registration(**{"name": "Jung", "email": "j@x.example", "phone": None, "password": "p", **named})


def test_differences_are_the_named_fields_that_differ_without_secrets():
    before, after = person(), person(name="Kim", phone="010", password="q", email="k@x.example")

    assert history.differences(before, after, ("name", "phone", "password"), secret=("password",)) == (
        Change("name", before="Jung", after="Kim"),
        Change("phone", before=None, after="010"),
        Change("password", secret=True),
    )


def test_first_values_leave_out_what_was_not_given():
    found = history.first_values(person(), ("name", "phone", "password"), secret=("password",))

    assert found == (Change("name", after="Jung"), Change("password", secret=True))


def test_ended_leaves_out_what_there_was_none_of():
    assert history.ended(rights=2, delegations=0) == (Change("rights", before=2),)


@pytest.mark.parametrize(
    ("name", "shown"), [("vehicle_no", "vehicleNo"), ("rpc_notify_base_path", "rpcNotifyBasePath")]
)
def test_published_name_is_that_of_rest(name, shown):
    assert fields.published(name) == shown


def test_id_of_an_entry_leads_back_to_its_number():
    no = TimeIds(node=5).take(1, now_ms=1_760_000_000_000)
    unset = dict.fromkeys(Entry.__struct_fields__)
    entry = Entry(**{**unset, "no": RowNo(no), "at_ms": 1, "event": Event.CHANGED})

    assert history.number_of(entry.id) == no


def test_id_of_something_else_is_no_entrys():
    assert history.number_of(TimeIds(node=5).next(now_ms=1_760_000_000_000)) is None
