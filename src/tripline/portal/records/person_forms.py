"""Forms of people: what a director, driver or administrator is registered with and changed to.

Not here: whose they are and who may do it (`people.py`, `administrators.py`).
"""

from typing import Any, Final, NamedTuple

from litestar.response import Response

from tripline.domain import people
from tripline.domain.access import Actor
from tripline.domain.people import Registration, User
from tripline.domain.refusals import Refusal
from tripline.http import peers
from tripline.http.context.accounts import accounts_of
from tripline.http.context.base import Call
from tripline.portal.frame import record_forms, views, words
from tripline.portal.frame.forms import Form
from tripline.portal.frame.record_forms import Shown
from tripline.portal.frame.visitors import Visitor

FIELDS: Final[dict[str, Any]] = {"name": None, "email": None, "phone": None}
PASSWORD: Final = "password"  # noqa: S105  the name of a field
LABELS: Final = words.labels((*FIELDS, PASSWORD))


class Names(NamedTuple):
    """Keys of the texts of a form."""

    title: str
    submit: str
    """What the button does."""


def texts(user: User) -> dict[str, str]:
    """What the form of a person is filled with; never a password."""
    return {"name": user.name, "email": user.email, "phone": words.text(user.phone)}


async def registration(request: Call, form: Form, actor: Actor) -> tuple[Registration, str]:
    """The new person that the form describes, and the hash of the password.

    Raises `BadParameter` and `TooManyLogins`.
    """
    said = {name: text or None for name, text in record_forms.typed(form, FIELDS).items()}
    made = people.registration(**said, password=form.secret(PASSWORD) or None)
    return made, await accounts_of(request).passwords.hash(made.password, peers.requester_of(request, actor))


def named(form: Form) -> dict[str, Any]:
    """The fields that the form changes; without a password the old one stays."""
    said: dict[str, Any] = {name: text or None for name, text in record_forms.typed(form, FIELDS).items()}
    return {**said, PASSWORD: form.secret(PASSWORD) or None}


async def hashed(request: Call, password: str | None, actor: Actor) -> str | None:
    """The hash of a new password, if there is one. Raises `TooManyLogins`."""
    if password is None:
        return None
    return await accounts_of(request).passwords.hash(password, peers.requester_of(request, actor))


def show(
    request: Call,
    visitor: Visitor,
    shown: Shown,
    names: Names,
    *,
    up: str,
    up_text: str | None = None,
    user: User | None = None,
    error: Refusal | None = None,
) -> Response[bytes]:
    """The form of a new person, or of this one. `up_text`: what `up` is called unless it is a list or the person."""
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
