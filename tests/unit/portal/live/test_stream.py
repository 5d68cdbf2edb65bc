"""The stream of the live map over HTTP: who may open it, its headers, and the session that it does not prolong."""

import pytest
from tests.support import rest
from tests.support.portal import Browser

from tripline import config
from tripline.domain.access import Authority
from tripline.domain.shares import Shares
from tripline.services.accounts import sessions
from tripline.services.accounts.sessions import Client
from tripline.services.live.feed import Feed
from tripline.services.shares import Places

STREAM = "/map/stream"
SETTINGS = config.Sessions()


async def cookie_of(app, user_id):
    opened = {"user_id": user_id, "client": Client(agent=None, address=None), "settings": SETTINGS, "before": None}
    return await app.store.write(lambda tx: sessions.opened(tx, **opened, now_ms=app.now_ms))


async def asked(app, login):
    app.contexts.feed.stop()  # so that the stream ends at once
    return await Browser(app, login).get(STREAM)


async def test_stream_asks_proxies_to_pass_it_on_as_it_comes(app: rest.Rest, admin):
    answer = await asked(app, admin)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["x-accel-buffering"] == "no"
    assert answer.headers["cache-control"] == "no-store, no-transform"
    assert answer.text == ': live\n\nevent: end\ndata: {"reason":"stopping"}\n\n'


@pytest.mark.parametrize(("role", "status"), [(None, 401), (Authority.SYS_ADMIN, 403), (Authority.CARRIER, 403)])
async def test_stream_is_refused_as_data_is(app: rest.Rest, role, status):
    login = None if role is None else await app.account("root@x.example", role)
    answer = await asked(app, login)

    assert (answer.status_code, answer.json()["status"]) == (status, status)


async def test_full_process_refuses_a_stream_and_says_when_to_come_again(app: rest.Rest, admin):
    full = Places(Shares(total=0, operator=0, company=0, account=0))
    app.change(feed=Feed(store=app.store, clock=lambda: app.now_ms, signals=app.signals, places=full))
    answer = await asked(app, admin)

    assert (answer.status_code, answer.headers["retry-after"]) == (429, "10")


@pytest.mark.parametrize(("path", "status"), [(STREAM, 401), ("/map", 200)])
async def test_stream_does_not_prolong_a_session(app: rest.Rest, path, status):
    login = await app.account("kim@fleet.example", Authority.COMPANY_ADMIN)
    cookie = await cookie_of(app, login.user_id)
    app.contexts.feed.stop()
    browser = Browser(app)
    browser.http.headers["Cookie"] = f"tripline={cookie.text}"
    app.now_ms += SETTINGS.idle_s * 500
    first = await browser.get(path)
    await app.contexts.accounts.browsers.write(app.store)
    app.now_ms += SETTINGS.idle_s * 500

    assert (first.status_code, (await browser.get(STREAM)).status_code) == (200, status)
