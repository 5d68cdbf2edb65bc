"""JSON of accounts: log-in, refresh, passwords, applications for a service account.

The answers of log-in and refresh are flat, strings only, because a client copies every key (spec/rest 2). Fields
of an application follow spec/rest 8.5, with the names that a company's registration uses where it has the same.

Not here: allowed values (`domain/applications.py`, `domain/passwords.py`), reading a request (`bodies.py`).
"""

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tripline.domain.applications import Application
from tripline.wire.rest.base import Id, id_or_unset
from tripline.wire.rest.bodies import one_name
from tripline.wire.rest.companies import SECOND_NAMES

_ID: dict[str, object] = {"examples": [{"id": "6c9ba3d0-c801-11ef-9d5c-6b1f6f2a4c11"}]}

ServiceName: TypeAlias = Annotated[
    str, Meta(description="name of the service, up to 255 characters", examples=["Seoul Taxi Safety"])
]
CompanyName: TypeAlias = Annotated[
    str, Meta(description="name of the company that offers it, up to 255 characters", examples=["Hanbit Mobility"])
]
ContactName: TypeAlias = Annotated[
    str, Meta(description="who answers for the application, up to 255 characters", examples=["김하늘"])
]
Mobile: TypeAlias = Annotated[
    str, Meta(description="mobile number of that person, up to 255 characters", examples=["010-1234-5678"])
]
Email: TypeAlias = Annotated[
    str, Meta(description="E-mail address; becomes the login id when approved", examples=["ops@hanbit.example"])
]
Introduction: TypeAlias = Annotated[
    str,
    Meta(
        description="what the service does, up to 4096 characters",
        examples=["Driving scores for 200 taxis in Seoul, shown to their drivers after each shift."],
    ),
]
Department: TypeAlias = Annotated[
    str | None, Meta(description="department of that person; null: none", examples=["Fleet operations"])
]
ManagerName: TypeAlias = Annotated[
    str | None, Meta(description="manager on the provider's side; null: none", examples=["Lee Sora"])
]
ManagerEmail: TypeAlias = Annotated[
    str | None, Meta(description="E-mail address of that manager; null: none", examples=["sora@provider.example"])
]
NotifyHost: TypeAlias = Annotated[
    str | None,
    Meta(description="address of the server for push messages; null: none", examples=["https://push.hanbit.example"]),
]
Token: TypeAlias = Annotated[
    str,
    Meta(
        description="access token for the header X-Authorization, after `Bearer `", examples=["eyJhbGciOiJIUzUxMiJ9…"]
    ),
]
RefreshToken: TypeAlias = Annotated[
    str,
    Meta(description="token that is exchanged for the next pair, once", examples=["eyJhbGciOiJIUzUxMiJ9…"]),
]
NewPassword: TypeAlias = Annotated[
    str | None, Meta(description="the new password, 8 to 255 characters", examples=["correct horse battery"])
]


class Login(msgspec.Struct):
    """Credentials of a log-in."""

    username: Annotated[str, Meta(description="E-mail address of the account", examples=["ops@hanbit.example"])]
    password: Annotated[str, Meta(description="its password", examples=["correct horse battery"])]


class Refresh(msgspec.Struct, rename="camel"):
    """A refresh token to turn into new tokens."""

    refresh_token: RefreshToken


class TokenPair(msgspec.Struct, rename="camel"):
    """Tokens of a log-in."""

    token: Token
    refresh_token: RefreshToken


class ChangePassword(msgspec.Struct, rename="camel", kw_only=True):
    """A new password for the caller's own account."""

    current_password: Annotated[
        str | None, Meta(description="the password so far", examples=["a first pass phrase"])
    ] = None
    new_password: NewPassword = None


class ResetPassword(msgspec.Struct, kw_only=True):
    """Where to send a link that sets a new password."""

    email: Annotated[str | None, Meta(description="E-mail address of the account", examples=["ops@hanbit.example"])] = (
        None
    )


class SetPassword(msgspec.Struct, kw_only=True):
    """The token of a mailed link, and the password it sets."""

    token: Annotated[
        str | None,
        Meta(
            description="the `token` in the link's address; good once",
            examples=["0b2oZr7Qw5m3kq1yJ9v8s6u4t2x0c1e3g5i7k9m1o3Q"],
        ),
    ] = None
    password: NewPassword = None


class ApplicationRequest(msgspec.Struct, rename="camel", kw_only=True):
    """An application for a service account."""

    service_name: ServiceName | None = None
    company_name: CompanyName | None = None
    contact_name: ContactName | None = None
    mobile: Mobile | None = None
    email: Email | None = None
    introduction: Introduction | None = None
    department: Department = None
    provider_manager_name: ManagerName = None
    provider_manager_email: ManagerEmail = None
    skt_manager_name: Annotated[
        str | UnsetType | None,
        Meta(description="the original interface's name for `providerManagerName`", examples=["Lee"]),
    ] = UNSET
    skt_manager_email: Annotated[
        str | UnsetType | None,
        Meta(description="the original interface's name for `providerManagerEmail`", examples=["lee@provider.example"]),
    ] = UNSET
    notify_host: NotifyHost = None


class Rejection(msgspec.Struct, kw_only=True):
    """Why an application is rejected."""

    reason: Annotated[
        str | None,
        Meta(
            description="told to the applicant by mail, up to 4096 characters",
            examples=["We could not reach the number you gave."],
        ),
    ] = None


class ApplicationRecord(msgspec.Struct, rename="camel", kw_only=True):
    """An application and its outcome."""

    id: Annotated[Id, Meta(description="id of the application", extra_json_schema=_ID)]
    created_time: Annotated[int, Meta(description="when it was sent in, epoch ms", examples=[1735689600000])]
    service_name: ServiceName
    company_name: CompanyName
    contact_name: ContactName
    mobile: Mobile
    email: Email
    introduction: Introduction
    department: Department
    provider_manager_name: ManagerName
    provider_manager_email: ManagerEmail
    notify_host: NotifyHost
    state: Annotated[str, Meta(description="SUBMITTED, APPROVED or REJECTED", examples=["SUBMITTED"])]
    decided_time: Annotated[
        int | None, Meta(description="when it was decided, epoch ms; null: not yet", examples=[1735776000000])
    ]
    decided_by: Annotated[
        Id, Meta(description="user id of who decided it; the placeholder: nobody yet", extra_json_schema=_ID)
    ]
    reason: Annotated[
        str | None,
        Meta(description="why it was rejected; null: it was not", examples=["We could not reach the number you gave."]),
    ]


def said(sent: ApplicationRequest) -> dict[str, Any]:
    """The fields of an application, by the names of the domain. Raises `BadParameter`."""
    return one_name(msgspec.structs.asdict(sent), ApplicationRequest, SECOND_NAMES)


def application_record(application: Application) -> ApplicationRecord:
    """The record."""
    return ApplicationRecord(
        id=Id(application.id),
        created_time=application.created_ms,
        service_name=application.service_name,
        company_name=application.company_name,
        contact_name=application.contact_name,
        mobile=application.mobile,
        email=application.email,
        introduction=application.introduction,
        department=application.department,
        provider_manager_name=application.provider_manager_name,
        provider_manager_email=application.provider_manager_email,
        notify_host=application.notify_host,
        state=application.state,
        decided_time=application.decided_ms,
        decided_by=id_or_unset(application.decided_by_id),
        reason=application.reason,
    )
