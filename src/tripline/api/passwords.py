"""Changing one's password, asking for a link by mail, and setting a password with it (spec/rest 2)."""

from litestar.types import ASGIApp

from tripline import observe
from tripline.domain import fields, passwords
from tripline.domain.access import Gate
from tripline.http import answers, languages, parameters, peers, permission
from tripline.http.context import Call, accounts_of, context_of
from tripline.http.operations import operation
from tripline.services.accounts import login, resets
from tripline.services.accounts.hash_turns import TooManyLogins
from tripline.services.accounts.limits import TooManyForms
from tripline.services.accounts.links import LinkUnusable
from tripline.wire.rest import accounts as rest_accounts
from tripline.wire.rest import bodies as rest_bodies


@operation(
    "POST",
    "/api/auth/changePassword",
    access=Gate.ACCOUNT,
    request=rest_accounts.ChangePassword,
    required=("currentPassword", "newPassword"),
    answer=None,
    refuses=(login.WrongPassword, login.MustWait, passwords.PasswordTooShort, TooManyLogins),
)
async def change(request: Call) -> ASGIApp:
    """Set the caller's own password. Every session of the account ends at once, including the current one.

    A wrong current password counts like a failed log-in.
    """
    context = context_of(request)
    actor = await permission.permitted(request)
    sent = rest_bodies.read(await parameters.json_object(request), rest_accounts.ChangePassword)
    await login.change_password(
        context.store,
        actor=actor,
        current=fields.required("currentPassword", sent.current_password),
        new=passwords.chosen("newPassword", sent.new_password),
        attempts=peers.attempts_of(request),
        passwords=accounts_of(request).passwords,
        ids=context.ids,
    )
    return answers.ok({})


@operation(
    "POST",
    "/api/noauth/resetPasswordByEmail",
    access=Gate.ANYONE,
    request=rest_accounts.ResetPassword,
    required=("email",),
    answer=None,
    refuses=(TooManyForms,),
)
async def ask_for_link(request: Call) -> ASGIApp:
    """Mail a link to set a new password to the account with this address.

    The answer is the same whether there is one or not.
    """
    context = context_of(request)
    sent = rest_bodies.read(await parameters.json_object(request), rest_accounts.ResetPassword)
    email = fields.email("email", sent.email)
    language = languages.asked_of(request)
    now_ms = context.clock()
    accounts_of(request).limits.count_form(peers.address_of(request), now_ms=now_ms)
    if accounts_of(request).limits.may_reset(email, now_ms=now_ms):
        await context.store.write(
            lambda tx: resets.ask(tx, email=email, language=language, ids=context.ids, now_ms=now_ms)
        )
        context.signals.notify(observe.SIGNAL_MAIL_DUE)
    return answers.ok({})


@operation(
    "POST",
    "/api/noauth/setPassword",
    access=Gate.ANYONE,
    request=rest_accounts.SetPassword,
    required=("token", "password"),
    answer=None,
    refuses=(LinkUnusable, passwords.PasswordTooShort, TooManyLogins),
)
async def set_with_link(request: Call) -> ASGIApp:
    """Set the password of the account that a mailed link belongs to; the link is good once, for 24 hours."""
    context = context_of(request)
    sent = rest_bodies.read(await parameters.json_object(request), rest_accounts.SetPassword)
    await resets.set_password(
        context.store,
        token=fields.required("token", sent.token),
        password=passwords.chosen("password", sent.password),
        attempts=peers.attempts_of(request),
        passwords=accounts_of(request).passwords,
        ids=context.ids,
    )
    return answers.ok({})
