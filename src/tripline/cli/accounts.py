"""`tripline admin`: the accounts that no other account can make."""

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from tripline import config_files
from tripline.cli import base

if TYPE_CHECKING:
    import uvloop

    from tripline.chores import installation as chores
else:
    uvloop = base.Later("uvloop")
    chores = base.Later("tripline.chores.installation")

admin = App(
    name="admin",
    help="Make the accounts that no other account can make.",
    help_epilogue="Example: tripline admin create --email root@example.com --password-stdin < password.txt",
)
base.commands.command(admin)


@admin.command(help_epilogue="Example: tripline admin create --email root@example.com --password-stdin < password.txt")
def create(
    *,
    email: Annotated[str, Parameter(help="login of the account")],
    password_stdin: Annotated[bool, Parameter(negative=(), help="read the password from standard input")],
    place: base.Place | None = None,
) -> int:
    """Make a platform administrator, who registers operator companies."""
    password = _password(password_stdin)
    user = uvloop.run(chores.administrator_made(base.settings(place, {}), email=email, password=password))
    base.line(f"platform administrator {email} created, id {user}")
    return base.OK


@admin.command(help_epilogue="Example: tripline admin grant --email ops@example.com --password-stdin < password.txt")
def grant(
    *,
    email: Annotated[str, Parameter(help="login of the account")],
    password_stdin: Annotated[bool, Parameter(negative=(), help="read the password from standard input")],
    place: base.Place | None = None,
) -> int:
    """Make a granted service account, which registers its own operator company."""
    password = _password(password_stdin)
    user = uvloop.run(chores.grant_made(base.settings(place, {}), email=email, password=password))
    base.line(f"service account {email} granted, id {user}")
    return base.OK


@admin.command(help_epilogue="Example: tripline admin carrier --email net@carrier.example --password-stdin < pass.txt")
def carrier(
    *,
    email: Annotated[str, Parameter(help="login of the account")],
    password_stdin: Annotated[bool, Parameter(negative=(), help="read the password from standard input")],
    place: base.Place | None = None,
) -> int:
    """Make a carrier's account, which says what became of its lines."""
    password = _password(password_stdin)
    user = uvloop.run(chores.carrier_made(base.settings(place, {}), email=email, password=password))
    base.line(f"carrier account {email} created, id {user}")
    return base.OK


def _password(from_stdin: bool) -> str:
    if not from_stdin:
        raise config_files.WrongSettingError("A password is read from standard input only: add --password-stdin.")
    password = sys.stdin.readline().rstrip("\r\n") if sys.stdin else ""  # None: started with a closed input
    if not password:
        raise config_files.WrongSettingError("Standard input held no password.")
    return password
