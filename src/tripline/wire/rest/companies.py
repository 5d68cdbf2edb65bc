"""JSON of companies: the fields of requests and records.

Follows spec/interface (Resources and fields), in its order, with the additions of spec/rest 8.5. Unset ids are the
placeholder, other unset values null. Not here: allowed values (`domain/`), reading a request (`bodies.py`).
"""

from collections.abc import Container, Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tripline.domain import companies
from tripline.domain.companies import Company, MessageTypes
from tripline.domain.refusals import BadParameter
from tripline.wire.rest.base import Id
from tripline.wire.rest.bodies import if_set, one_name

_COMPANY = {"id": "b37c5a20-c801-11ef-9d5c-6b1f6f2a4c11"}
_OPERATOR = {"id": "a1f0e7c0-c801-11ef-9d5c-6b1f6f2a4c11"}

_NAME = Meta(description="company name, at most 255 characters", examples=["Ace Logistics"])
_REGION = Meta(description="region of the company, at most 255 characters", examples=["Busan"])
_SERVICE_TYPE = Meta(
    description="name of the service, at most 255 characters: unique among operators; a partner has its operator's",
    examples=["ace"],
)
_PIC_NAME = Meta(description="name of the administrator, at most 255 characters", examples=["Kim"])
_PIC_PHONE = Meta(description="telephone of the administrator, at most 255 characters", examples=["010-1234-5678"])
_PIC_EMAIL = Meta(
    description="e-mail address of the administrator, at most 255 characters: the login id of the account that a"
    " registration makes; changing it later changes no account",
    examples=["kim@ace.example"],
)
_PIC_PASSWD = Meta(
    description="first password of the administrator, at most 255 characters; refused in a change",
    examples=["a long pass phrase"],
)
_PIC_DIVISION = Meta(description="department of the administrator, at most 255 characters", examples=["Fleet"])
_MANAGER_NAME = Meta(description="name of the provider's manager, at most 255 characters", examples=["Lee"])
_MANAGER_EMAIL = Meta(
    description="e-mail address of the provider's manager, at most 255 characters", examples=["lee@provider.example"]
)
_SKT_NAME = Meta(
    description="the original interface's name for `providerManagerName`; answered only to a request that used it",
    examples=["Lee"],
)
_SKT_EMAIL = Meta(
    description="the original interface's name for `providerManagerEmail`; answered only to a request that used it",
    examples=["lee@provider.example"],
)
SECOND_NAMES: Final = {
    "skt_manager_name": "provider_manager_name",
    "skt_manager_email": "provider_manager_email",
}
"""Second names of fields in the original interface -> the first name."""
_TASK = Meta(description="what the partner does, at most 4096 characters", examples=["Night deliveries"])
_DESCRIPTION = Meta(description="further text, at most 4096 characters", examples=["Joined in spring"])
_NOTIFY_HOST = Meta(
    description="http(s) address that receives push messages, at most 255 characters",
    examples=["http://203.0.113.10:9090/noti"],
)
_NOTIFY_TYPES = Meta(
    description="numbers of the wanted push messages: text with commas, a number, or a list; echoed as sent",
    examples=["7, 8, 101, 300"],
)
_RPC_HOST = Meta(
    description="host that receives RPC results, or its http(s) address; at most 255 characters",
    examples=["203.0.113.10"],
)
_RPC_PORT = Meta(description="port of that host, 1 to 65535", examples=[9090])
_RPC_PATH = Meta(description="base path on that host, at most 255 characters", examples=["/rpc"])


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

    id: Annotated[Id | str, Meta(description="the company: an Id object or a bare UUID; required", examples=[_COMPANY])]


class CompanyRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A company. `picPasswd` is present only in the answer to a registration, `tokenPrefix` only in reads."""

    id: Annotated[Id, Meta(description="id of the company", examples=[_COMPANY])]
    created_time: Annotated[int, Meta(description="when it was registered, epoch ms", examples=[1735689600000])]
    name: Annotated[str, _NAME]
    service_type: Annotated[str, _SERVICE_TYPE]
    master: Annotated[bool, Meta(description="whether it is the operator of its service type", examples=[False])]
    master_id: Annotated[Id, Meta(description="the operator; its own id when it is one", examples=[_OPERATOR])]
    pic_name: Annotated[str, _PIC_NAME]
    pic_phone: Annotated[str | None, _PIC_PHONE]
    pic_email: Annotated[str, _PIC_EMAIL]
    pic_passwd: Annotated[
        str | UnsetType,
        Meta(description="the password as sent, answered to a registration alone", examples=["a long pass phrase"]),
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
        Meta(
            description="first five characters for the access tokens of its devices, unique per company",
            examples=["7K3QX"],
        ),
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
    return CompanyRecord(
        id=Id(company.id),
        created_time=company.created_ms,
        name=company.name,
        service_type=company.service_type,
        master=company.master,
        master_id=Id(company.master_id),
        pic_name=company.pic_name,
        pic_phone=company.pic_phone,
        pic_email=company.pic_email,
        pic_passwd=if_set(password),
        pic_division=company.pic_division,
        provider_manager_name=company.provider_manager_name,
        provider_manager_email=company.provider_manager_email,
        skt_manager_name=company.provider_manager_name if "sktManagerName" in sent else UNSET,
        skt_manager_email=company.provider_manager_email if "sktManagerEmail" in sent else UNSET,
        cooperation_task=company.cooperation_task,
        description=company.description,
        region=company.region,
        notify_host=if_set(company.notify_host),
        notify_msg_type=if_set(company.notify_msg_type),
        rpc_notify_host=if_set(company.rpc_notify_host),
        rpc_notify_port=if_set(company.rpc_notify_port),
        rpc_notify_base_path=if_set(company.rpc_notify_base_path),
        token_prefix=company.token_prefix if with_prefix else UNSET,
    )
