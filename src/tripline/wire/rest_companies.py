"""JSON of companies: what requests carry and what records look like, field by field.

Follows the interface specification (Resources and fields), in its order, with the additions of client-surface 8.5.
Unset ids are the placeholder, other unset values null. Not here: which values are allowed (`domain/`), how a request
is read (`rest_reading.py`).
"""

import msgspec
from msgspec import UNSET, UnsetType

from tripline.domain.companies import Company, MessageTypes
from tripline.wire.rest import Id
from tripline.wire.rest_reading import if_set


class CompanyRequest(msgspec.Struct, rename="camel", kw_only=True):
    """Registration of an operator (notify*) or a partner (rpcNotify*)."""

    name: str | None = None
    region: str | None = None
    service_type: str | None = None
    pic_name: str | None = None
    pic_phone: str | None = None
    pic_email: str | None = None
    pic_passwd: str | None = None
    pic_division: str | None = None
    provider_manager_name: str | None = None
    provider_manager_email: str | None = None
    cooperation_task: str | None = None
    description: str | None = None
    notify_host: str | None = None
    notify_msg_type: MessageTypes | None = None
    rpc_notify_host: str | None = None
    rpc_notify_port: int | None = None
    rpc_notify_base_path: str | None = None


class CompanyRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A company. `picPasswd` is there in the answer to a registration alone, `tokenPrefix` in reads alone."""

    id: Id
    created_time: int
    name: str
    service_type: str
    master: bool
    master_id: Id
    pic_name: str
    pic_phone: str | None
    pic_email: str
    pic_passwd: str | UnsetType
    pic_division: str | None
    provider_manager_name: str | None
    provider_manager_email: str | None
    cooperation_task: str | None
    description: str | None
    region: str | None
    notify_host: str | UnsetType
    notify_msg_type: MessageTypes | UnsetType
    rpc_notify_host: str | UnsetType
    rpc_notify_port: int | UnsetType
    rpc_notify_base_path: str | UnsetType
    token_prefix: str | UnsetType


def company_record(company: Company, *, password: str | None = None, with_prefix: bool = False) -> CompanyRecord:
    """The record; with the password that was just registered, or with the token prefix."""
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
