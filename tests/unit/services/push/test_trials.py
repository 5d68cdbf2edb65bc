"""Trial messages: what the server gets, what its administrator is shown, and who may send one."""

import asyncio
import base64
import contextlib
import json

import pytest
from tests.support import delegating, rest
from tests.support.refused import refused

from tripline.domain import pushes
from tripline.domain.ids import PLACEHOLDER
from tripline.domain.pushes import Channel
from tripline.domain.refusals import Forbidden, NotFound
from tripline.ports.webhooks import WebhookFailedError, WebhookReply
from tripline.services.push import secrets
from tripline.services.push.trials import AT_ONCE, Trial
from tripline.store.tables import push_outbox

HOSTS = {
    "notifyHost": "https://who:what@n.example/noti?key=1",
    "rpcNotifyHost": "r.example",
    "rpcNotifyPort": 9090,
    "rpcNotifyBasePath": "/results",
}


class Server:
    """Implements `ports.webhooks.WebhookSender`: answers as told."""

    def __init__(self, *answers):
        self.asked = []
        self.answers = list(answers) or [WebhookReply(200, 12, b"fine")]
        self.waits = None
        self.came = asyncio.Semaphore(0)

    async def ask(self, webhook):
        """Keep the request and answer it."""
        self.asked.append(webhook)
        self.came.release()
        if self.waits is not None:
            await self.waits.wait()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@contextlib.asynccontextmanager
async def company(tmp_path, server):
    """An application whose messages this server gets, and the administrator of a company on it."""
    async with rest.opened(tmp_path, webhooks=server) as app:
        yield app, (await app.operator("ace", **HOSTS))[1]


def send(app, login, channel=Channel.NOTIFY, company_id=None):
    return app.contexts.trials.send(actor=login.actor, company_id=company_id or login.company_id, channel=channel)


async def test_trial_is_signed_says_that_it_is_one_and_shows_the_answer(tmp_path):
    server = Server(WebhookReply(500, 34, b"n\xff! " + "오류".encode()))

    async with company(tmp_path, server) as (app, admin):
        trial = await send(app, admin)
        path = f"/company/{admin.company_id}/push/secret"
        secret = (await app.get(admin, path))["secret"]
        outbox = await app.store.read(lambda tx: tx.all(push_outbox.select()))

    (sent,) = server.asked
    headers = dict(sent.headers)
    assert sent.url == HOSTS["notifyHost"]
    assert json.loads(sent.body) == {
        "masterCompanyId": admin.company_id,
        "companyId": admin.company_id,
        "sensorId": PLACEHOLDER,
        "vehicleId": PLACEHOLDER,
        "ts": rest.NOW_MS,
        "ty": "TEST",
        "pld": {},
    }
    about = {"message_id": headers["webhook-id"], "timestamp_s": rest.NOW_MS // 1_000, "body": sent.body}
    assert headers["webhook-signature"] == secrets.signature(_raw(secret), **about)
    assert trial == Trial(
        channel=Channel.NOTIFY, at_ms=rest.NOW_MS, status=500, took_ms=34, start="n\N{REPLACEMENT CHARACTER}! 오류"
    )
    assert not trial.is_delivered
    assert outbox == []


def _raw(shown):
    return base64.b64decode(shown.removeprefix(secrets.PREFIX))


async def test_trial_of_results_goes_to_their_own_address_with_their_headers(tmp_path):
    server = Server()

    async with company(tmp_path, server) as (app, admin):
        trial = await send(app, admin, Channel.RPC_NOTIFY)

    (sent,) = server.asked
    assert (sent.url, sent.body) == ("http://r.example:9090/results", b"{}")
    headers = dict(sent.headers)
    assert headers["X-Request-Id"] == PLACEHOLDER
    assert headers["X-Sensor-Id"] == PLACEHOLDER
    assert headers["X-Rpc-Method"] == "test"
    assert trial.is_delivered


async def test_trial_without_an_answer_says_why(tmp_path):
    server = Server(WebhookFailedError("The host name could not be resolved."))

    async with company(tmp_path, server) as (app, admin):
        trial = await send(app, admin)

    assert (trial.status, trial.trouble) == (None, "The host name could not be resolved.")
    assert not trial.is_delivered


async def test_company_without_the_address_is_told_so(tmp_path):
    server = Server()

    async with company(tmp_path, server) as (app, admin):
        _, partner = await app.partner(admin, "p@p.example")
        with refused(pushes.NoAddress, match="no address"):
            await send(app, partner)

    assert server.asked == []


async def test_trials_are_for_a_companys_own_administrators(tmp_path):
    server = Server()

    async with company(tmp_path, server) as (app, admin):
        _, partner = await app.partner(admin, "p@p.example")
        others = [
            partner,
            await delegating.director(app, admin, "director"),
            await delegating.driver(app, admin, "driver"),
        ]
        for login in others:
            with pytest.raises(Forbidden):
                await send(app, login, company_id=admin.company_id)
        with pytest.raises(Forbidden):
            await send(app, admin, company_id=partner.company_id)
        with pytest.raises(NotFound):
            await send(app, admin, company_id=delegating.UNKNOWN)

    assert server.asked == []


async def test_one_trial_of_a_company_is_under_way_at_a_time(tmp_path):
    server = Server()

    async with company(tmp_path, server) as (app, admin):
        server.waits = asyncio.Event()
        first = asyncio.ensure_future(send(app, admin))
        await server.came.acquire()
        with refused(pushes.TrialUnderWay, match="under way"):
            await send(app, admin)
        server.waits.set()
        await first
        found = await send(app, admin)

    assert found.is_delivered
    assert len(server.asked) == 2


async def test_trials_of_all_companies_together_are_bounded_and_make_room_for_another_operator(tmp_path):
    server = Server()

    async with company(tmp_path, server) as (app, admin):
        server.waits = asyncio.Event()
        partners = [(await app.partner(admin, f"p{at}@x.example", **HOSTS))[1] for at in range(AT_ONCE.operator)]
        others = [(await app.operator(f"s{at}", **HOSTS))[1] for at in range(AT_ONCE.total - AT_ONCE.operator + 1)]
        under_way = []
        for login in (*partners, *others):
            under_way.append(asyncio.ensure_future(send(app, login)))
            await server.came.acquire()
        with refused(pushes.TrialUnderWay, match="under way"):
            await send(app, others[0])
        server.waits.set()
        found = await asyncio.gather(*under_way, return_exceptions=True)
        got = [isinstance(each, pushes.TrialUnderWay) and each.case for each in found]

    assert got == ["gave_way", *[False] * AT_ONCE.total]
