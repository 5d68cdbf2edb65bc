"""Administrators alone see user, password and query in the address of a receiver, on every route."""

import pytest

from tripline.domain.access import Authority

SENT = {
    "notifyHost": "https://push-user:push-word@203.0.113.10:9090/noti?key=push-key#push-part",
    "rpcNotifyHost": "http://rpc-user:rpc-word@203.0.113.11/base?key=rpc-key",
    "rpcNotifyPort": 9091,
    "rpcNotifyBasePath": "/rpc?key=path-key",
}
BARE = {
    "notifyHost": "https://203.0.113.10:9090/noti",
    "rpcNotifyHost": "http://203.0.113.11/base",
    "rpcNotifyPort": 9091,
    "rpcNotifyBasePath": "/rpc",
}
SECRETS = ("push-user", "push-word", "push-key", "push-part", "rpc-user", "rpc-word", "rpc-key", "path-key")
ROUTES = {
    "read": lambda company_id: f"/company/{company_id}",
    "mine": lambda _: "/company/me",
    "list": lambda _: "/companies?limit=10",
    "push counts": lambda company_id: f"/company/{company_id}/push",
    "parked pushes": lambda company_id: f"/company/{company_id}/push/parked?limit=10",
}
REFUSED = {
    (Authority.SYS_ADMIN, "mine"),
    *(
        (role, route)
        for role in (Authority.DIRECTOR, Authority.DRIVER)
        for route in ROUTES
        if route not in ("read", "mine")
    ),
}
"""Role and route that do not go together, whatever the address."""
RECORDS = ("read", "mine", "list")


async def answers(app, role):
    """Status and text of every route for the role, of a company with these addresses."""
    _, admin = await app.operator("ace", **SENT)
    if role is Authority.COMPANY_ADMIN:
        person = admin
    elif role is Authority.SYS_ADMIN:
        person = await app.account("root@platform.example", role)
    else:
        person = await app.person(admin, role, "oh")
    found = {}
    for route, path in ROUTES.items():
        answer = await app.call(person, "GET", path(admin.company_id))
        found[route] = answer.status_code, answer.text, answer.json()
    return found


@pytest.mark.parametrize("role", [Authority.DIRECTOR, Authority.DRIVER])
async def test_credentials_in_the_address_of_a_receiver_are_on_no_route_of_who_is_no_administrator(app, role):
    found = await answers(app, role)

    assert {route: [secret for secret in SECRETS if secret in text] for route, (_, text, _) in found.items()} == {
        route: [] for route in ROUTES
    }
    assert {route for route, (code, _, _) in found.items() if code != 200} == {
        route for refused, route in REFUSED if refused is role
    }
    for route in RECORDS:
        if (role, route) not in REFUSED:
            body = found[route][2]
            record = body["data"][0] if route == "list" else body
            assert {name: record[name] for name in BARE} == BARE


@pytest.mark.parametrize("role", [Authority.COMPANY_ADMIN, Authority.SYS_ADMIN])
async def test_administrators_see_the_address_of_a_receiver_as_it_was_sent(app, role):
    found = await answers(app, role)

    for route in RECORDS:
        if (role, route) not in REFUSED:
            code, _, body = found[route]
            record = body["data"][0] if route == "list" else body
            assert (code, {name: record[name] for name in SENT}) == (200, SENT)


async def test_registration_and_change_echo_the_address_as_it_was_sent(app):
    registered, admin = await app.operator("ace", **SENT)
    changed = await app.call(admin, "PUT", f"/company/{admin.company_id}", {"region": "Busan"})

    for record in (registered, changed.json()):
        assert {name: record[name] for name in SENT} == SENT
