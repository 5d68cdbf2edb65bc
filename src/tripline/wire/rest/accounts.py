"""JSON of accounts: log-in, refresh, sessions, passwords, applications for a service account.

The answers of log-in and refresh are flat, strings only, because a client copies every key (spec/rest 2). Fields
of an application follow spec/rest 8.5, with the names that a company's registration uses where it has the same.
"""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from tripline.domain.account_sessions import Session
from tripline.domain.applications import Application
from tripline.wire.described import about
from tripline.wire.rest import examples
from tripline.wire.rest.base import Id, id_or_unset, record_of
from tripline.wire.rest.bodies import one_name
from tripline.wire.rest.companies import SECOND_NAMES

ServiceName: TypeAlias = Annotated[str, about("name of the service, up to 255 characters", "Seoul Taxi Safety")]
CompanyName: TypeAlias = Annotated[
    str, about("name of the company that offers it, up to 255 characters", "Hanbit Mobility")
]
ContactName: TypeAlias = Annotated[str, about("who answers for the application, up to 255 characters", "김하늘")]
Mobile: TypeAlias = Annotated[str, about("mobile number of that person, up to 255 characters", "010-1234-5678")]
Email: TypeAlias = Annotated[str, about("E-mail address; becomes the login id when approved", "ops@hanbit.example")]
Introduction: TypeAlias = Annotated[
    str,
    about(
        "what the service does, up to 4096 characters",
        "Driving scores for 200 taxis in Seoul, shown to their drivers after each shift.",
    ),
]
Department: TypeAlias = Annotated[str | None, about("department of that person; null: none", "Fleet operations")]
ManagerName: TypeAlias = Annotated[str | None, about("manager on the provider's side; null: none", "Lee Sora")]
ManagerEmail: TypeAlias = Annotated[
    str | None, about("E-mail address of that manager; null: none", "sora@provider.example")
]
NotifyHost: TypeAlias = Annotated[
    str | None, about("address of the server for push messages; null: none", "https://push.hanbit.example")
]
Token: TypeAlias = Annotated[
    str, about("access token for the header X-Authorization, after `Bearer `", "eyJhbGciOiJIUzUxMiJ9…")
]
RefreshToken: TypeAlias = Annotated[
    str, about("token that is exchanged for the next pair, once", "eyJhbGciOiJIUzUxMiJ9…")
]
NewPassword: TypeAlias = Annotated[str | None, about("the new password, 8 to 255 characters", "correct horse battery")]


class Login(msgspec.Struct):
    """Credentials of a log-in."""

    username: Annotated[str, about("E-mail address of the account", "ops@hanbit.example")]
    password: Annotated[str, about("its password", "correct horse battery")]


class Refresh(msgspec.Struct, rename="camel"):
    """A refresh token to turn into new tokens."""

    refresh_token: RefreshToken


class TokenPair(msgspec.Struct, rename="camel"):
    """Tokens of a log-in."""

    token: Token
    refresh_token: RefreshToken


class SessionRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A session of the caller's own account."""

    id: Annotated[Id, about("id of the session", {"id": "0e0a5a52-95c1-4f0b-a1c2-6f7d3d0b9a11"})]
    created_time: Annotated[int, about("when somebody logged in or signed in, epoch ms", 1735689600000)]
    kind: Annotated[
        Literal["rest", "browser"],
        about("`rest`: a log-in that got tokens; `browser`: a sign-in with a browser", "rest"),
    ]
    prolonged_time: Annotated[
        int,
        about(
            "when it was prolonged last, by its refresh token or by a request of its browser, epoch ms", 1735693200000
        ),
    ]
    expires_time: Annotated[int, about("when it ends unless it is prolonged, epoch ms", 1736294400000)]
    agent: Annotated[str | None, about("what the client called itself (`User-Agent`); null: nothing", "curl/8.9.1")]
    address: Annotated[str | None, about("from where it was opened; null: not known", "192.0.2.7")]
    current: Annotated[bool, about("whether this request belongs to it", True)]


class ChangePassword(msgspec.Struct, rename="camel", kw_only=True):
    """A new password for the caller's own account."""

    current_password: Annotated[str | None, about("the password so far", "a first pass phrase")] = None
    new_password: NewPassword = None


class ResetPassword(msgspec.Struct, kw_only=True):
    """Where to send a link that sets a new password."""

    email: Annotated[str | None, about("E-mail address of the account", "ops@hanbit.example")] = None


class SetPassword(msgspec.Struct, kw_only=True):
    """The token of a mailed link, and the password it sets."""

    token: Annotated[
        str | None, about("the `token` in the link's address; good once", "0b2oZr7Qw5m3kq1yJ9v8s6u4t2x0c1e3g5i7k9m1o3Q")
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
        str | UnsetType | None, about("the original interface's name for `providerManagerName`", "Lee")
    ] = UNSET
    skt_manager_email: Annotated[
        str | UnsetType | None,
        about("the original interface's name for `providerManagerEmail`", "lee@provider.example"),
    ] = UNSET
    notify_host: NotifyHost = None


class Rejection(msgspec.Struct, kw_only=True):
    """Why an application is rejected."""

    reason: Annotated[
        str | None,
        about("told to the applicant by mail, up to 4096 characters", "We could not reach the number you gave."),
    ] = None


class ApplicationRecord(msgspec.Struct, rename="camel", kw_only=True):
    """An application and its outcome."""

    id: Annotated[Id, about("id of the application", examples.EVENT)]
    created_time: Annotated[int, about("when it was sent in, epoch ms", 1735689600000)]
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
    state: Annotated[str, about("SUBMITTED, APPROVED or REJECTED", "SUBMITTED")]
    decided_time: Annotated[int | None, about("when it was decided, epoch ms; null: not yet", 1735776000000)]
    decided_by: Annotated[Id, about("user id of who decided it; the placeholder: nobody yet", examples.EVENT)]
    reason: Annotated[
        str | None, about("why it was rejected; null: it was not", "We could not reach the number you gave.")
    ]


def said(sent: ApplicationRequest) -> dict[str, Any]:
    """The fields of an application, by the names of the domain. Raises `BadParameter`."""
    return one_name(msgspec.structs.asdict(sent), ApplicationRequest, SECOND_NAMES)


def application_record(application: Application) -> ApplicationRecord:
    """The record."""
    return record_of(ApplicationRecord, application, decided_by=id_or_unset(application.decided_by_id))


def session_record(session: Session, *, current: str | None) -> SessionRecord:
    """The record; `current` is the id of the requesting session."""
    return record_of(SessionRecord, session, prolonged_time=session.rotated_ms, current=session.id == current)
