"""What a company's registration may say."""

import pytest

from tripline.domain import companies, fields
from tripline.domain.refusals import BadParameter

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
    with pytest.raises(BadParameter, match=f"^Parameter '{name}' can't be empty!$"):
        companies.registration(**{**SENT, field: None})


@pytest.mark.parametrize(
    ("field", "longest"),
    [
        ("name", 255),
        ("region", 255),
        ("service_type", 255),
        ("pic_name", 255),
        ("pic_phone", 255),
        ("pic_passwd", 255),
        ("pic_division", 255),
        ("provider_manager_name", 255),
        ("notify_host", 255),
        ("notify_msg_type", 255),
        ("rpc_notify_host", 255),
        ("rpc_notify_base_path", 255),
        ("cooperation_task", 4096),
        ("description", 4096),
    ],
)
def test_g5_each_text_has_its_length(field, longest):
    companies.registration(**{**SENT, field: "가" * longest})

    with pytest.raises(fields.TooLong, match=f"at most {longest} characters"):
        companies.registration(**{**SENT, field: "가" * (longest + 1)})


@pytest.mark.parametrize("manager", [None, "", "lee@provider.example"])
def test_provider_manager_email_may_be_empty(manager):
    sent = companies.registration(**SENT, provider_manager_email=manager)

    assert sent.details.provider_manager_email == manager


def test_provider_manager_email_of_another_form_is_refused():
    with pytest.raises(fields.WrongForm, match="'providerManagerEmail'"):
        companies.registration(**SENT, provider_manager_email="lee")


@pytest.mark.parametrize("sent", ["0f", "7, 8, 101", 300, [7, "8", 101], "", []])
def test_n2_notify_msg_type_is_kept_as_sent(sent):
    assert companies.registration(**SENT, notify_msg_type=sent).details.notify_msg_type == sent


def test_n2_notify_msg_type_array_is_bounded_by_its_text():
    companies.registration(**SENT, notify_msg_type=[1] * 128)

    with pytest.raises(fields.TooLong, match="'notifyMsgType'"):
        companies.registration(**SENT, notify_msg_type=[1] * 129)


@pytest.mark.parametrize("asked", [None, "", "alpha"])
def test_g32_partner_gets_the_registrars_service_type(asked):
    assert companies.partner_service_type(asked, registrar="alpha") == "alpha"


@pytest.mark.parametrize("asked", ["beta", "Alpha", "alpha "])
def test_g32_partner_with_another_service_type_is_refused(asked):
    with pytest.raises(companies.ForeignServiceType, match="'serviceType' must be alpha"):
        companies.partner_service_type(asked, registrar="alpha")


@pytest.mark.parametrize("asked", [None, "", " "])
def test_operator_must_name_its_service_type(asked):
    with pytest.raises(BadParameter, match="'serviceType' can't be empty!"):
        companies.operator_service_type(asked)


def test_prefixes_are_five_letters_or_digits_and_differ():
    numbers = (0, 1, 33, 34, companies.PREFIXES - 1)

    assert [companies.prefix_of(number) for number in numbers] == ["00000", "00001", "0000Z", "00010", "ZZZZZ"]
