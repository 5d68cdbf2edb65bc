"""Forms to register and change people: directors, drivers and administrators.

Not here: permissions and storage (`people.py`, `administrators.py`).
"""

from typing import Any, Final, NamedTuple

from litestar.response import Response

from tripline.domain import people
from tripline.domain.access import Actor
from tripline.domain.people import Registration, User
from tripline.domain.refusals import Refusal
from tripline.http import peers
from tripline.http.context import Call, accounts_of
from tripline.portal.frame import record_forms, views, words
from tripline.portal.frame.forms import Form
from tripline.portal.frame.record_forms import FormValues
from tripline.portal.frame.visitors import Visitor

FIELDS: Final[dict[str, Any]] = {"name": None, "email": None, "phone": None}
PASSWORD: Final = "password"  # noqa: S105  the name of a field
LABELS: Final = words.labels((*FIELDS, PASSWORD))


class Names(NamedTuple):
    """Keys of the texts of a form."""

    title: str
    submit: str
    """Text of the button."""


def texts(user: User) -> dict[str, str]:
    """The form's initial values; never a password."""
    return {"name": user.name, "email": user.email, "phone": words.text(user.phone)}


async def registration(request: Call, form: Form, actor: Actor) -> tuple[Registration, str]:
    """Return the submitted person and the hash of the password.

    Raises `BadParameter` and `TooManyLogins`.
    """
    said = {name: text or None for name, text in record_forms.typed(form, FIELDS).items()}
    made = people.registration(**said, password=form.secret(PASSWORD) or None)
    return made, await accounts_of(request).passwords.hash(made.password, peers.requester_of(request, actor))


def named(form: Form) -> dict[str, Any]:
    """The submitted fields; without a password the old one stays."""
    said: dict[str, Any] = {name: text or None for name, text in record_forms.typed(form, FIELDS).items()}
    return {**said, PASSWORD: form.secret(PASSWORD) or None}


async def hashed(request: Call, password: str | None, actor: Actor) -> str | None:
    """Hash a new password; None without one. Raises `TooManyLogins`."""
    if password is None:
        return None
    return await accounts_of(request).passwords.hash(password, peers.requester_of(request, actor))


def show(
    request: Call,
    visitor: Visitor,
    shown: FormValues,
    names: Names,
    *,
    up: str,
    up_text: str | None = None,
    user: User | None = None,
    error: Refusal | None = None,
) -> Response[bytes]:
    """The form of a new person, or of the given one. `up_text` names `up` unless it is a list or the person."""
    return views.show(
        request,
        visitor,
        "people/form.html",
        title=names.title,
        error=error,
        labels=LABELS,
        shown=shown,
        user=user,
        is_self=user is not None and user.id == visitor.actor.user_id,
        submit=names.submit,
        up=up,
        up_text=up_text,
    )
