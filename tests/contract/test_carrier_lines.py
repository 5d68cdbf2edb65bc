"""`ports.carriers.CarrierLines`: the same on the simulated carrier and on one asked over HTTP, which may misbehave."""

import asyncio
import contextlib

import pytest
from tests.support import carriers, lines, rest
from tests.support.lines import MDN

from tripline import config
from tripline.adapters.carrier.http import ANSWER_MAX, HttpCarrier
from tripline.adapters.carrier.simulated import SimulatedCarrier
from tripline.ports.carriers import CarrierRefusedError
from tripline.ports.outages import Outage

REQUEST = "1b0c4f60-c803-11ef-9d5c-6b1f6f2a4c11"
TOKEN = "secret-token"


@contextlib.asynccontextmanager
async def over_http(carrier, *, timeout_s=5.0):
    async with carriers.serving(carrier) as url:
        adapter = HttpCarrier(config.Carrier(url=url, token=TOKEN, timeout_s=timeout_s))
        try:
            yield adapter
        finally:
            await adapter.close()


@pytest.fixture(params=["simulated", "http"])
async def carrier(request, app: rest.Rest):
    """An adapter that knows the line `MDN` as paused."""
    if request.param == "http":
        async with over_http(carriers.Carrier(paused={MDN})) as adapter:
            yield adapter
    else:
        scene = await lines.scene(app)
        await scene.opened()
        await scene.act("SUSPENSION", kind="USE")
        yield SimulatedCarrier(store=app.store, clock=lambda: app.now_ms)


async def test_pause_of_a_paused_line_is_lifted(carrier):
    assert await carrier.unpause(MDN, request_id=REQUEST) is None


async def test_request_sent_again_is_done_once(carrier):
    assert [await carrier.unpause(MDN, request_id=REQUEST) for _ in range(2)] == [None, None]


async def test_line_that_is_not_paused_is_refused(carrier):
    with pytest.raises(CarrierRefusedError) as refused:
        await carrier.unpause("0", request_id=REQUEST)

    assert str(refused.value) == "This line is not paused."


async def test_simulated_carrier_refuses_a_line_that_is_normal_again(app: rest.Rest):
    scene = await lines.scene(app)
    await scene.opened()
    carrier = SimulatedCarrier(store=app.store, clock=lambda: app.now_ms)
    with pytest.raises(CarrierRefusedError, match="not paused"):
        await carrier.unpause(MDN, request_id=REQUEST)


async def test_simulated_carrier_lifts_each_new_pause(app: rest.Rest):
    scene = await lines.scene(app)
    await scene.opened()
    answers = []
    for _ in range(3):
        await scene.act("SUSPENSION", kind="USE")
        answers.append((await scene.unpause()).status_code)

    assert answers == [200, 200, 200]


async def test_http_request_is_what_the_page_says():
    server = carriers.Carrier(paused={MDN})
    async with over_http(server) as carrier:
        await carrier.unpause(MDN, request_id=REQUEST)
    ((line, headers, body),) = server.asked
    told = {name: headers[name] for name in ("authorization", "idempotency-key", "content-type", "accept-encoding")}

    assert line == "POST /api/unpause HTTP/1.1"
    assert told == {
        "authorization": f"Bearer {TOKEN}",
        "idempotency-key": REQUEST,
        "content-type": "application/json",
        "accept-encoding": "identity",
    }
    assert body == {"mdn": MDN, "requestId": REQUEST}


@pytest.mark.parametrize(
    "raw",
    [
        carriers.reply(500, carriers.DONE),
        carriers.reply(503, b""),
        carriers.reply(401, {"result": "REFUSED", "message": "token"}),
        carriers.reply(429, {"result": "REFUSED"}),
        carriers.reply(302, b"", "Location: http://127.0.0.1:1/"),
        carriers.reply(204, b""),
        carriers.reply(200, b""),
        carriers.reply(200, b"<html>sign in</html>"),
        carriers.reply(200, b"\xff\xfe"),
        carriers.reply(200, b"[" * 60_000),
        carriers.reply(200, {"result": "MAYBE"}),
        carriers.reply(200, ["DONE"]),
        carriers.reply(409, carriers.DONE),
        carriers.reply(200, b'{"result":"DONE"}' + b" " * ANSWER_MAX),
        carriers.reply(200, b'{"result":"DONE"}')[:-3],
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"SSH-2.0-OpenSSH\r\n",
        b"",
    ],
    ids=lambda raw: repr(raw[:14] + raw[-20:]),
)
async def test_http_carrier_that_misbehaves_is_an_outage_that_tells_no_token(raw):
    async with over_http(carriers.Carrier(raw=raw)) as carrier:
        with pytest.raises(Outage) as away:
            await carrier.unpause(MDN, request_id=REQUEST)
        found = str(away.value)

    assert TOKEN not in found


@pytest.mark.parametrize(("size", "well"), [(ANSWER_MAX - 1, True), (ANSWER_MAX, True), (ANSWER_MAX + 1, False)])
def test_http_answer_of_the_greatest_length_is_read(size, well):
    body = b'{"result":"DONE"}'

    async def scenario():
        raw = carriers.reply(200, body + b" " * (size - len(body)))
        async with over_http(carriers.Carrier(raw=raw)) as carrier:
            await carrier.unpause(MDN, request_id=REQUEST)

    with contextlib.nullcontext() if well else pytest.raises(Outage):
        asyncio.run(scenario())


@pytest.mark.parametrize(
    "carrier",
    [
        carriers.Carrier(silent=True),
        carriers.Carrier(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", drip=True),
        carriers.Carrier(raw=b"HTTP/1.1 200 OK\r\nX-Slow:", drip=True),
    ],
    ids=["silent", "slow body", "slow head"],
)
async def test_http_carrier_that_is_slow_is_an_outage_in_time(carrier):
    async with over_http(carrier, timeout_s=0.3) as adapter:
        with pytest.raises(Outage):
            await adapter.unpause(MDN, request_id=REQUEST)


async def test_http_carrier_that_is_not_there_is_an_outage():
    async with carriers.serving(carriers.Carrier()) as url:
        pass
    adapter = HttpCarrier(config.Carrier(url=url, timeout_s=2.0))
    with pytest.raises(Outage):
        await adapter.unpause(MDN, request_id=REQUEST)
    await adapter.close()
