"""The address of a request's client, as far as it can be trusted; for counting, not for authorization.

`X-Forwarded-For` is read only when the operator has configured a proxy in front (`behind_proxy`). The form of addresses
for counting: `wire/addresses.py`.
"""

from typing import Final

from tripline.domain.access import Actor
from tripline.http import cookies
from tripline.http.context import Call, accounts_of, context_of, process_of
from tripline.services.accounts.hash_turns import Requester
from tripline.services.accounts.login import Attempts
from tripline.wire import addresses

_AGENT_MAX: Final = 255


def address_of(request: Call) -> str:
    """The client's address in one form; `unknown` if there is no readable one."""
    if process_of(request).behind_proxy and (hops := request.headers.getall(addresses.FORWARDED, [])):
        return addresses.forwarded(hops[-1])
    peer = request.scope.get("client")
    return addresses.form(peer[0]) if peer else addresses.UNKNOWN


def attempts_of(request: Call) -> Attempts:
    """Attempts at a password from where this request comes."""
    context, of_accounts = context_of(request), accounts_of(request)
    agent = request.headers.get("user-agent", "")[:_AGENT_MAX]
    return Attempts(
        of_accounts.limits,
        address_of(request),
        context.clock(),
        agent or None,
        mark=cookies.mark(request),
        mark_of=of_accounts.tokens.mark,
    )


def requester_of(request: Call, actor: Actor) -> Requester:
    """The signed-in account that asks, for its turn at a hash."""
    return Requester(actor.user_id, address_of(request), known=True)
