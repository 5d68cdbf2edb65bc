"""The bounds of a company's registration and of its changes."""

import msgspec
import pytest
from msgspec.structs import replace
from tests.support.refused import refused

from tripline.domain import companies, fields
from tripline.domain.ids import CompanyId
from tripline.domain.refusals import BadParameter

LINES = (
    "name",
    "region",
    "pic_name",
    "pic_phone",
    "pic_division",
    "provider_manager_name",
    "notify_host",
    "notify_msg_type",
    "rpc_notify_host",
    "rpc_notify_base_path",
)
PROSE = ("cooperation_task", "description")
SENT = {"name": "Ace", "pic_name": "Kim", "pic_email": "kim@ace.example", "pic_passwd": "secret"}


def test_registration_with_required_fields_alone_leaves_the_rest_unset():
    assert companies.registration(**SENT) == companies.Registration(
        details=companies.Details(
            name="Ace",
            region=None,
            pic_name="Kim",
            pic_phone=None,
            pic_email="kim@ace.example",
            pic_division=None,
            provider_manager_name=None,
            provider_manager_email=None,
            cooperation_task=None,
            description=None,
            notify_host=None,
            notify_msg_type=None,
            rpc_notify_host=None,
            rpc_notify_port=None,
            rpc_notify_base_path=None,
        ),
        service_type=None,
        pic_passwd="secret",
    )


@pytest.mark.parametrize(
    ("field", "name"),
    [("name", "name"), ("pic_name", "picName"), ("pic_email", "picEmail"), ("pic_passwd", "picPasswd")],
)
def test_required_field_missing_is_refused_by_name(field, name):
    with refused(BadParameter, match=f"^Parameter '{name}' can't be empty!$"):
        companies.registration(**{**SENT, field: None})


def test_operator_without_a_service_type_is_refused_with_its_other_fields():
    with pytest.raises(BadParameter) as caught:
        companies.registration(operator=True, **{**SENT, "name": None, "pic_email": None})

    assert [each.field for each in (caught.value, *caught.value.others)] == ["name", "picEmail", "serviceType"]


@pytest.mark.parametrize(
    ("field", "longest"),
    [*((name, 255) for name in (*LINES, "service_type", "pic_passwd")), *((name, 4096) for name in PROSE)],
)
def test_g5_each_text_has_its_length(field, longest):
    companies.registration(**{**SENT, field: "가" * longest})

    with refused(fields.TooLong, match=f"at most {longest} characters"):
        companies.registration(**{**SENT, field: "가" * (longest + 1)})


@pytest.mark.parametrize("manager", [None, "", "lee@provider.example"])
def test_provider_manager_email_may_be_empty(manager):
    sent = companies.registration(**SENT, provider_manager_email=manager)

    assert sent.details.provider_manager_email == manager


def test_provider_manager_email_of_another_form_is_refused():
    with refused(fields.WrongForm, match="'providerManagerEmail'"):
        companies.registration(**SENT, provider_manager_email="lee")


@pytest.mark.parametrize("sent", ["0f", "7, 8, 101", 300, [7, "8", 101], "", []])
def test_n2_notify_msg_type_is_kept_as_sent(sent):
    assert companies.registration(**SENT, notify_msg_type=sent).details.notify_msg_type == sent


def test_n2_notify_msg_type_array_is_bounded_by_its_text():
    companies.registration(**SENT, notify_msg_type=[1] * 128)

    with refused(fields.TooLong, match="'notifyMsgType'"):
        companies.registration(**SENT, notify_msg_type=[1] * 129)


@pytest.mark.parametrize("asked", [None, "", "alpha"])
def test_g32_partner_gets_the_registrars_service_type(asked):
    assert companies.partner_service_type(asked, registrar="alpha") == "alpha"


@pytest.mark.parametrize("asked", ["beta", "Alpha", "alpha "])
def test_g32_partner_with_another_service_type_is_refused(asked):
    with refused(companies.ForeignServiceType, match="'serviceType' must be alpha"):
        companies.partner_service_type(asked, registrar="alpha")


@pytest.mark.parametrize("asked", [None, "", " "])
def test_operator_must_name_its_service_type(asked):
    with refused(BadParameter, match="'serviceType' can't be empty!"):
        companies.registration(operator=True, **{**SENT, "service_type": asked})


def test_prefixes_are_five_letters_or_digits_and_differ():
    numbers = (0, 1, 33, 34, companies.PREFIXES - 1)

    assert [companies.prefix_of(number) for number in numbers] == ["00000", "00001", "0000Z", "00010", "ZZZZZ"]


COMPANY = companies.Company(
    name="Ace",
    region="Busan",
    pic_name="Kim",
    pic_phone="010",
    pic_email="kim@ace.example",
    pic_division=None,
    provider_manager_name=None,
    provider_manager_email=None,
    cooperation_task=None,
    description="first",
    notify_host="http://203.0.113.10:9090/noti",
    notify_msg_type="7, 8",
    rpc_notify_host=None,
    rpc_notify_port=None,
    rpc_notify_base_path=None,
    id=CompanyId("b37c5a20-c801-11ef-9d5c-6b1f6f2a4c11"),
    created_ms=1,
    service_type="ace",
    master=True,
    master_id=CompanyId("b37c5a20-c801-11ef-9d5c-6b1f6f2a4c11"),
    registered_by_id=None,
    token_prefix="7K3QX",
)
DETAILS = companies.Details(**{name: getattr(COMPANY, name) for name in companies.Details.__struct_fields__})


@pytest.mark.parametrize(
    "named",
    [
        {},
        {"notify_host": "https://203.0.113.11/noti", "notify_msg_type": [600, "300"]},
        {"notify_host": None, "region": None, "description": None, "pic_phone": None},
        {"rpc_notify_host": "203.0.113.12", "rpc_notify_port": 9090, "rpc_notify_base_path": "/rpc"},
        {"name": "Ace 2", "pic_name": "Lee", "pic_email": "lee@ace.example"},
    ],
)
def test_change_replaces_what_is_named_alone(named):
    assert companies.changed(COMPANY, named) == replace(DETAILS, **named)


@pytest.mark.parametrize(("field", "name"), [("name", "name"), ("pic_name", "picName"), ("pic_email", "picEmail")])
@pytest.mark.parametrize("value", [None, "", " "])
def test_change_clears_no_required_field(field, name, value):
    with refused(BadParameter, match=f"^Parameter '{name}' can't be empty!$"):
        companies.changed(COMPANY, {field: value})


@pytest.mark.parametrize(("longest", "names"), [(255, LINES), (4096, PROSE)])
def test_g5_bounds_hold_in_a_change_too(longest, names):
    for name in names:
        at = "가" * longest
        assert getattr(companies.changed(COMPANY, {name: at}), name) == at
        with refused(fields.TooLong, match=f"at most {longest} characters"):
            companies.changed(COMPANY, {name: at + "가"})


@pytest.mark.parametrize("port", [1, 65535])
def test_g5_ports_at_their_bounds_are_taken_in_a_change(port):
    assert companies.changed(COMPANY, {"rpc_notify_port": port}).rpc_notify_port == port


@pytest.mark.parametrize("port", [0, 65536, -1])
def test_g5_ports_beyond_their_bounds_are_refused_in_a_change(port):
    with refused(fields.OutOfRange, match="'rpcNotifyPort' must be between 1 and 65535"):
        companies.changed(COMPANY, {"rpc_notify_port": port})


@pytest.mark.parametrize("service_type", ["other", "", None, "ACE"])
def test_service_type_is_never_changed(service_type):
    with refused(companies.ServiceTypeFixed, match="it stays ace"):
        companies.changed(COMPANY, {"service_type": service_type})


def test_same_service_type_in_a_change_is_no_change():
    assert companies.changed(COMPANY, {"service_type": "ace"}) == DETAILS


def test_pic_passwd_in_a_change_is_refused_rather_than_ignored():
    with refused(companies.PasswordElsewhere, match="administrator's password"):
        companies.changed(COMPANY, {"pic_passwd": "another"})


@pytest.mark.parametrize("nothing", [None, ""])
def test_pic_passwd_without_a_value_in_a_change_says_nothing(nothing):
    assert companies.changed(COMPANY, {"pic_passwd": nothing}) == DETAILS


@pytest.mark.parametrize("field", ["notify_host", "rpc_notify_host"])
def test_notify_hosts_with_a_scheme_are_http(field):
    with refused(fields.WrongForm, match="must be an http or https address"):
        companies.registration(**SENT, **{field: "ftp://203.0.113.10/noti"})


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        (None, None),
        ("", ""),
        ("203.0.113.10", "203.0.113.10"),
        ("203.0.113.10:9090", "203.0.113.10:9090"),
        ("http://push.example/noti", "http://push.example/noti"),
        ("http://push.example/@me/noti", "http://push.example/@me/noti"),
        ("http://user:word@push.example:90/noti", "http://push.example:90/noti"),
        ("HTTPS://user@push.example", "HTTPS://push.example"),
        (" https://a:b@c:d@push.example/", " https://push.example/"),
        ("user:word@push.example/noti", "push.example/noti"),
        ("http://push.example?key=1", "http://push.example"),
        ("http://push.example/noti#key", "http://push.example/noti"),
        ("http://push.example/noti?key=a@b", "http://push.example/noti"),
        ("http://[2001:db8::1]:90/noti?key", "http://[2001:db8::1]:90/noti"),
        ("2001:db8::1", "2001:db8::1"),
        ("http://user:wo/rd@push.example/", None),
        ("http://user:wo?rd@push.example/", None),
        ("http://user:wo#rd@push.example/", None),
        ("http:\\\\user:word@push.example\\noti", "http:\\\\push.example\\noti"),
    ],
)
def test_address_without_credentials_has_no_user_password_or_query(sent, shown):
    details = msgspec.structs.asdict(companies.registration(**SENT).details) | {
        "notify_host": sent,
        "rpc_notify_host": sent,
    }
    company_id = CompanyId("a1f0e7c0-c801-11ef-9d5c-6b1f6f2a4c11")
    company = companies.Company(
        **details,
        id=company_id,
        created_ms=0,
        service_type="ace",
        master=True,
        master_id=company_id,
        registered_by_id=None,
        token_prefix="7K3QX",
    )

    seen = companies.without_credentials(company)

    assert (seen.notify_host, seen.rpc_notify_host) == (shown, shown)
