"""`tripline admin`: making the accounts that no other account can make, and managing every account."""

import sys
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import App, Parameter

from tripline.cli import base
from tripline.config import files as config_files
from tripline.later import Later

if TYPE_CHECKING:
    import uvloop

    from tripline.domain import access
    from tripline.maintenance import accounts as maintenance
    from tripline.store.accounts import directory
else:
    uvloop = Later("uvloop")
    maintenance = Later("tripline.maintenance.accounts")
    access = Later("tripline.domain.access")
    directory = Later("tripline.store.accounts.directory")

admin = App(
    name="admin",
    help="Make the accounts that no other account can make; list, disable, enable and let in any.",
    help_epilogue="Example: tripline admin create --email root@example.com --password-stdin < password.txt",
)

_Email = Annotated[str, Parameter(help="login of the account")]
_PasswordStdin = Annotated[bool, Parameter(negative=(), help="read the password from standard input")]
_STATES: Final = {True: "enabled", False: "disabled"}


@admin.command(help_epilogue="Example: tripline admin create --email root@example.com --password-stdin < password.txt")
def create(*, email: _Email, password_stdin: _PasswordStdin, place: base.Place | None = None) -> int:
    """Make a platform administrator, who registers operator companies."""
    user = _created(place, access.Authority.SYS_ADMIN, email, password_stdin)
    base.line(f"platform administrator {email} created, id {user}")
    return base.OK


@admin.command(help_epilogue="Example: tripline admin grant --email ops@example.com --password-stdin < password.txt")
def grant(*, email: _Email, password_stdin: _PasswordStdin, place: base.Place | None = None) -> int:
    """Make a granted service account, which registers its own operator company."""
    user = _created(place, access.Authority.COMPANY_ADMIN, email, password_stdin)
    base.line(f"service account {email} granted, id {user}")
    return base.OK


@admin.command(help_epilogue="Example: tripline admin carrier --email net@carrier.example --password-stdin < pass.txt")
def carrier(*, email: _Email, password_stdin: _PasswordStdin, place: base.Place | None = None) -> int:
    """Make a carrier's account, which reports changes to its lines."""
    user = _created(place, access.Authority.CARRIER, email, password_stdin)
    base.line(f"carrier account {email} created, id {user}")
    return base.OK


@admin.command(name="list", help_epilogue="Example: tripline admin list --role SYS_ADMIN")
def list_all(
    *,
    role: Annotated[
        Literal["SYS_ADMIN", "COMPANY_ADMIN", "DIRECTOR", "DRIVER", "CARRIER"] | None,
        Parameter(help="only accounts with this role"),
    ] = None,
    email: Annotated[str | None, Parameter(help="only accounts whose e-mail address begins so")] = None,
    disabled: Annotated[bool, Parameter(negative=(), help="only accounts that are disabled")] = False,
    place: base.Place | None = None,
) -> int:
    """Show accounts by e-mail address: enabled or disabled, role, company, time of creation."""
    which = directory.Which(
        beginning=email, authority=None if role is None else access.Authority(role), enabled=False if disabled else None
    )
    shown = uvloop.run(maintenance.listed(base.settings(place, {}), which, show=_show))
    base.line(f"{shown} accounts")
    return base.OK


@admin.command(help_epilogue="Example: tripline admin disable --email kim@example.com")
def disable(*, email: _Email, place: base.Place | None = None) -> int:
    """Disable the account: its sessions, tokens and links end at once, in every process."""
    return _enabled(place, email, False)


@admin.command(help_epilogue="Example: tripline admin enable --email kim@example.com")
def enable(*, email: _Email, place: base.Place | None = None) -> int:
    """Enable the account again; its password is unchanged."""
    return _enabled(place, email, True)


@admin.command(help_epilogue="Example: tripline admin sign-in-link --email kim@example.com")
def sign_in_link(
    *,
    email: _Email,
    url: Annotated[
        str | None,
        Parameter(
            help="address of the server as the browser sees it (default: accounts.public_url, else that of the server"
            " that runs on the data folder, else the API's)"
        ),
    ] = None,
    place: base.Place | None = None,
) -> int:
    """Print a link that signs the account in with a browser: good once, for 15 minutes; an earlier one ends."""
    base.line(uvloop.run(maintenance.sign_in_link(base.settings(place, {}), email=email, url=url)))
    return base.OK


def _show(entry: "directory.Entry") -> None:
    company = "-" if entry.company_name is None else entry.company_name
    text = f"{base.utc_text(entry.created_ms)} {_STATES[entry.enabled]} {entry.authority} {entry.email} {company}"
    base.line(base.printable(text))


def _enabled(place: base.Place | None, email: str, enabled: bool) -> int:
    changed = uvloop.run(maintenance.enabled(base.settings(place, {}), email=email, enabled=enabled))
    state = _STATES[enabled]
    base.line(f"account {base.printable(email)} {state if changed else f'was {state} already'}")
    return base.OK


def _password(from_stdin: bool) -> str:
    if not from_stdin:
        raise config_files.WrongSettingError("A password is read from standard input only: add --password-stdin.")
    password = sys.stdin.readline().rstrip("\r\n") if sys.stdin else ""  # None: started with a closed input
    if not password:
        raise config_files.WrongSettingError("Standard input held no password.")
    return password


def _created(place: base.Place | None, authority: "access.Authority", email: str, password_stdin: bool) -> str:
    password = _password(password_stdin)
    return uvloop.run(maintenance.created(base.settings(place, {}), authority, email=email, password=password))
