"""A company: validation of registrations and changes, its service type, and the prefix of its device tokens.

An operator is the master company of a service type; a partner joins the operator's. Follows the interface
specification (Company), rules 1 and 6, spec/gaps G5, G31, G32, H2, H5, X5, spec/push 1 and N1 to N3, and spec/rest 8.5.
"""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any, ClassVar, Final

import msgspec
from msgspec.structs import replace

from tripline.domain import fields
from tripline.domain.ids import CompanyId
from tripline.domain.refusals import BadParameter, Invalid, Word

PREFIX_LENGTH: Final = 5
_PREFIX_DIGITS: Final = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ"
"""Digits and capitals without I and O, which are easily mistaken for 1 and 0."""
PREFIXES: Final = len(_PREFIX_DIGITS) ** PREFIX_LENGTH
"""How many token prefixes there are: 45 million."""

_ADDRESS: Final = re.compile(r"(\s*[A-Za-z][A-Za-z0-9+.-]*:[/\\]{2,})?([^/\\]*)(.*)", re.DOTALL)
"""Scheme, everything up to the path, path."""
_SERVER: Final = re.compile(r"(\[[^\]]*\]|[^:\[\]]*|[0-9A-Fa-f:.]*)(:[0-9]+)?\s*")
"""Host and port; an IPv6 address may lack its brackets."""

MessageTypes = str | int | float | list[str | int | float]
"""`notifyMsgType` as sent: comma-separated text, a number, or an array of either (N2)."""


class ServiceTypeTaken(BadParameter):
    """Another operator has this service type."""

    code = "company.service_type_taken"


class ForeignServiceType(BadParameter):
    """A partner's registration names another service type than its registrar's (G32)."""

    code = "company.foreign_service_type"


class OneCompanyOnly(Invalid):
    """A granted account has registered its company already."""

    code: ClassVar[str] = "company.one_only"


class ServiceTypeFixed(BadParameter):
    """A change names another service type; the company's vehicles, sensors and partners depend on it."""

    code = "company.service_type_fixed"


class PasswordElsewhere(BadParameter):
    """A company's change named `picPasswd`; a password is changed with the account that has it."""

    code = "company.password_elsewhere"


class InUse(Invalid):
    """A company cannot be deleted while it owns vehicles or sensors, or has partners."""

    code: ClassVar[str] = "company.in_use"


class Holding(Word, Enum):
    """A reason against deleting a company."""

    FLEET = "vehicles or sensors"
    PARTNERS = "partners"


class Details(msgspec.Struct, frozen=True, kw_only=True):
    """The registration fields that a company's record keeps."""

    name: str
    region: str | None
    pic_name: str
    pic_phone: str | None
    pic_email: str
    pic_division: str | None
    provider_manager_name: str | None
    provider_manager_email: str | None
    cooperation_task: str | None
    description: str | None
    notify_host: str | None
    notify_msg_type: MessageTypes | None
    rpc_notify_host: str | None
    rpc_notify_port: int | None
    rpc_notify_base_path: str | None


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """A validated registration; the password is used for the administrator's account alone."""

    details: Details
    service_type: str | None
    """None: filled in from the registrar's company."""
    pic_passwd: str


class Company(Details, frozen=True, kw_only=True):
    """A registered company."""

    id: CompanyId
    created_ms: int
    service_type: str
    master: bool
    """True for an operator."""
    master_id: CompanyId
    """The operator; also for a partner's partner (H2)."""
    registered_by_id: CompanyId | None
    token_prefix: str


def registration(
    *, operator: bool = False, service_type: str | None = None, pic_passwd: str | None = None, **sent: Any
) -> Registration:
    """Return the registration when all fields are valid; else raise the `BadParameter` of the first invalid one, with
    the others attached.

    An operator must name its service type. Operators and partners may send either set of notify fields (older operators
    sent `rpcNotify*`). `sent` holds the fields of `Details`.
    """
    checked = fields.Checks()
    made = Registration(
        details=Details(**checked.record(_RULES, sent)),
        service_type=checked(fields.required if operator else fields.text, "serviceType", service_type),
        pic_passwd=checked(fields.required, "picPasswd", pic_passwd),
    )
    checked.end()
    return made


def changed(company: Company, named: Mapping[str, Any]) -> Details:
    """Return the company's details after a partial update: values in `named` replace the old ones, None clears them.

    `named` has the names of `registration`. The pic* fields are contact data: changing them changes no account. Raises
    `BadParameter` as `registration` does, `ServiceTypeFixed` and `PasswordElsewhere`.
    """
    sent = dict(named)
    if sent.pop("service_type", company.service_type) != company.service_type:
        raise ServiceTypeFixed(field="serviceType", service_type=company.service_type)
    if sent.pop("pic_passwd", None):
        raise PasswordElsewhere(field="picPasswd")
    before = {name: getattr(company, name) for name in Details.__struct_fields__}
    return Details(**fields.checked(_RULES, {**before, **sent}))


def partner_service_type(asked: str | None, *, registrar: str) -> str:
    """The service type of a new partner: always the registrar's. Raises `ForeignServiceType` when another was sent."""
    if asked and asked != registrar:
        raise ForeignServiceType(field="serviceType", registrar=registrar)
    return registrar


def prefix_of(number: int) -> str:
    """The token prefix (5 capitals and digits) with this number, 0 to `PREFIXES` - 1."""
    digits = []
    for _ in range(PREFIX_LENGTH):
        number, digit = divmod(number, len(_PREFIX_DIGITS))
        digits.append(_PREFIX_DIGITS[digit])
    return "".join(reversed(digits))


def _message_types(name: str, sent: MessageTypes | None) -> MessageTypes | None:
    """The value as sent; its comma-separated form (N2) is bounded like any other text."""
    parts = sent if isinstance(sent, list) else [sent]
    fields.text(name, ",".join(str(part) for part in parts if part is not None))
    return sent


def without_credentials(company: Company) -> Company:
    """Return the company for readers who are not administrators: its addresses have no user, password and query."""
    path = company.rpc_notify_base_path
    return replace(
        company,
        notify_host=_without_credentials(company.notify_host),
        rpc_notify_host=_without_credentials(company.rpc_notify_host),
        rpc_notify_base_path=None if path is None else _without_query(path),
    )


def _without_credentials(address: str | None) -> str | None:
    """Return the address without user, password and query; None when their end cannot be determined."""
    found = None if address is None else _ADDRESS.fullmatch(_without_query(address))
    if found is None:
        return None
    scheme, authority, path = found.groups()
    server = authority.rpartition("@")[2]
    # An invalid port may be part of a password that contains a slash or a question mark.
    return f"{scheme or ''}{server}{path}" if _SERVER.fullmatch(server) else None


def _without_query(text: str) -> str:
    return re.split("[?#]", text, maxsplit=1)[0]


_RULES: Final[fields.Rules] = {
    "name": (fields.required,),
    "region": (fields.text,),
    "pic_name": (fields.required,),
    "pic_phone": (fields.text,),
    "pic_email": (fields.email,),
    "pic_division": (fields.text,),
    "provider_manager_name": (fields.text,),
    "provider_manager_email": (fields.optional_email,),
    "cooperation_task": (fields.long_text,),
    "description": (fields.long_text,),
    "notify_host": (fields.web_address,),
    "notify_msg_type": (_message_types,),
    "rpc_notify_host": (fields.web_address,),
    "rpc_notify_port": (fields.port,),
    "rpc_notify_base_path": (fields.text,),
}
