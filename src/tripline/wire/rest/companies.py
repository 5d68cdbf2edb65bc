"""JSON of companies: the fields of requests and records.

Follows spec/interface (Resources and fields), in its order, with the additions of spec/rest 8.5. Unset ids are the
placeholder, other unset values null.
"""

from collections.abc import Container, Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from tripline.domain import companies
from tripline.domain.companies import Company, MessageTypes
from tripline.domain.refusals import BadParameter
from tripline.wire.described import about
from tripline.wire.rest import examples
from tripline.wire.rest.base import Id, record_of
from tripline.wire.rest.bodies import one_name

_OPERATOR = {"id": "a1f0e7c0-c801-11ef-9d5c-6b1f6f2a4c11"}

_NAME = about("company name, at most 255 characters", "Ace Logistics")
_REGION = about("region of the company, at most 255 characters", "Busan")
_SERVICE_TYPE = about(
    "name of the service, at most 255 characters: unique among operators; a partner has its operator's", "ace"
)
_PIC_NAME = about("name of the administrator, at most 255 characters", "Kim")
_PIC_PHONE = about("telephone of the administrator, at most 255 characters", "010-1234-5678")
_PIC_EMAIL = about(
    "e-mail address of the administrator, at most 255 characters: the login id of the account that a"
    " registration makes; changing it later changes no account",
    "kim@ace.example",
)
_PIC_PASSWD = about(
    "first password of the administrator, at most 255 characters; refused in a change", "a long pass phrase"
)
_PIC_DIVISION = about("department of the administrator, at most 255 characters", "Fleet")
_MANAGER_NAME = about("name of the provider's manager, at most 255 characters", "Lee")
_MANAGER_EMAIL = about("e-mail address of the provider's manager, at most 255 characters", "lee@provider.example")
_SKT_NAME = about(
    "the original interface's name for `providerManagerName`; answered only to a request that used it", "Lee"
)
_SKT_EMAIL = about(
    "the original interface's name for `providerManagerEmail`; answered only to a request that used it",
    "lee@provider.example",
)
SECOND_NAMES: Final = {"skt_manager_name": "provider_manager_name", "skt_manager_email": "provider_manager_email"}
"""Second names of fields in the original interface -> the first name."""
_TASK = about("what the partner does, at most 4096 characters", "Night deliveries")
_DESCRIPTION = about("further text, at most 4096 characters", "Joined in spring")
_NOTIFY_HOST = about(
    "http(s) address that receives push messages, at most 255 characters", "http://203.0.113.10:9090/noti"
)
_NOTIFY_TYPES = about(
    "numbers of the wanted push messages: text with commas, a number, or a list; echoed as sent", "7, 8, 101, 300"
)
_RPC_HOST = about("host that receives RPC results, or its http(s) address; at most 255 characters", "203.0.113.10")
_RPC_PORT = about("port of that host, 1 to 65535", 9090)
_RPC_PATH = about("base path on that host, at most 255 characters", "/rpc")


class CompanyRequest(msgspec.Struct, rename="camel", kw_only=True):
    """Registration of an operator (notify*) or a partner (rpcNotify*); in a change, the fields that change.

    Required in a registration: name, picName, picEmail, picPasswd; of an operator serviceType.
    """

    name: Annotated[str | None, _NAME] = None
    region: Annotated[str | None, _REGION] = None
    service_type: Annotated[str | None, _SERVICE_TYPE] = None
    pic_name: Annotated[str | None, _PIC_NAME] = None
    pic_phone: Annotated[str | None, _PIC_PHONE] = None
    pic_email: Annotated[str | None, _PIC_EMAIL] = None
    pic_passwd: Annotated[str | None, _PIC_PASSWD] = None
    pic_division: Annotated[str | None, _PIC_DIVISION] = None
    provider_manager_name: Annotated[str | None, _MANAGER_NAME] = None
    provider_manager_email: Annotated[str | None, _MANAGER_EMAIL] = None
    skt_manager_name: Annotated[str | UnsetType | None, _SKT_NAME] = UNSET
    skt_manager_email: Annotated[str | UnsetType | None, _SKT_EMAIL] = UNSET
    cooperation_task: Annotated[str | None, _TASK] = None
    description: Annotated[str | None, _DESCRIPTION] = None
    notify_host: Annotated[str | None, _NOTIFY_HOST] = None
    notify_msg_type: Annotated[MessageTypes | None, _NOTIFY_TYPES] = None
    rpc_notify_host: Annotated[str | None, _RPC_HOST] = None
    rpc_notify_port: Annotated[int | None, _RPC_PORT] = None
    rpc_notify_base_path: Annotated[str | None, _RPC_PATH] = None


class NamedCompanyRequest(CompanyRequest, rename="camel", kw_only=True):
    """A change that names the company in its body."""

    id: Annotated[Id | str, about("the company: an Id object or a bare UUID; required", examples.COMPANY)]


class CompanyRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A company. `picPasswd` is present only in the answer to a registration, `tokenPrefix` only in reads."""

    id: Annotated[Id, about("id of the company", examples.COMPANY)]
    created_time: Annotated[int, about("when it was registered, epoch ms", 1735689600000)]
    name: Annotated[str, _NAME]
    service_type: Annotated[str, _SERVICE_TYPE]
    master: Annotated[bool, about("whether it is the operator of its service type", False)]
    master_id: Annotated[Id, about("the operator; its own id when it is one", _OPERATOR)]
    pic_name: Annotated[str, _PIC_NAME]
    pic_phone: Annotated[str | None, _PIC_PHONE]
    pic_email: Annotated[str, _PIC_EMAIL]
    pic_passwd: Annotated[
        str | UnsetType, about("the password as sent, answered to a registration alone", "a long pass phrase")
    ]
    pic_division: Annotated[str | None, _PIC_DIVISION]
    provider_manager_name: Annotated[str | None, _MANAGER_NAME]
    provider_manager_email: Annotated[str | None, _MANAGER_EMAIL]
    skt_manager_name: Annotated[str | UnsetType | None, _SKT_NAME]
    skt_manager_email: Annotated[str | UnsetType | None, _SKT_EMAIL]
    cooperation_task: Annotated[str | None, _TASK]
    description: Annotated[str | None, _DESCRIPTION]
    region: Annotated[str | None, _REGION]
    notify_host: Annotated[str | UnsetType, _NOTIFY_HOST]
    notify_msg_type: Annotated[MessageTypes | UnsetType, _NOTIFY_TYPES]
    rpc_notify_host: Annotated[str | UnsetType, _RPC_HOST]
    rpc_notify_port: Annotated[int | UnsetType, _RPC_PORT]
    rpc_notify_base_path: Annotated[str | UnsetType, _RPC_PATH]
    token_prefix: Annotated[
        str | UnsetType,
        about("first five characters for the access tokens of its devices, unique per company", "7K3QX"),
    ]


def named_id(body: dict[str, Any]) -> str:
    """The id that a change names in its body, as sent: an Id object or bare text. Raises `BadParameter`."""
    sent = body.get("id")
    if isinstance(sent, dict):
        sent = sent.get("id")
    if sent is None or sent == "":
        raise BadParameter.missing("id")
    if not isinstance(sent, str):
        raise BadParameter("id", field="id")
    return sent


def said(sent: Mapping[str, Any]) -> dict[str, Any]:
    """The company's fields in a request, by the names of the domain. Raises `BadParameter`."""
    return one_name(sent, CompanyRequest, SECOND_NAMES)


def company_record(
    company: Company,
    *,
    for_administrator: bool,
    password: str | None = None,
    with_prefix: bool = False,
    sent: Container[str] = (),
) -> CompanyRecord:
    """The record; with the password that was just registered, or with the token prefix; with the second names that are
    among the JSON keys `sent`.

    Administrators see the addresses of receivers as sent, others without user, password and query.
    """
    if not for_administrator:
        company = companies.without_credentials(company)
    return record_of(
        CompanyRecord,
        company,
        pic_passwd=UNSET if password is None else password,
        skt_manager_name=company.provider_manager_name if "sktManagerName" in sent else UNSET,
        skt_manager_email=company.provider_manager_email if "sktManagerEmail" in sent else UNSET,
        token_prefix=company.token_prefix if with_prefix else UNSET,
    )
