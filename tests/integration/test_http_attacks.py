"""Each attack of the benchmark for a moment: others are answered meanwhile, and little is held at any time."""

import asyncio

import pytest
from bench import strangers
from tests.support.http_listeners import with_listener

from tripline.adapters.http.bounds import Bounds

pytestmark = pytest.mark.deep

CONNECTIONS = 40
BOUNDS = Bounds(address_connections=CONNECTIONS, address_bodies=4_000_000, address_answers=2_000_000, look_s=0.1)


async def _answering(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    body = b"x" * (900_000 if scope["path"] == "/api/openapi.json" else 1)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@pytest.mark.parametrize("name", strangers.ATTACKS)
def test_others_are_answered_during_an_attack(name: str) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[int, float]:
        address = writer.get_extra_info("peername")
        loop = asyncio.get_running_loop()
        attack = asyncio.ensure_future(strangers.attacked(name, address, 1.5, CONNECTIONS))
        answered, longest = 0, 0.0
        while not attack.done():
            began = loop.time()
            async with asyncio.timeout(10):
                _, other = opened = await asyncio.open_connection(*address, local_addr=("127.0.0.2", 0))
                other.write(b"GET /x HTTP/1.1\r\n\r\n")
                assert (await opened[0].readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
                other.close()
            answered, longest = answered + 1, max(longest, loop.time() - began)
            await asyncio.sleep(0.05)
        seen = await attack
        assert seen.connections >= CONNECTIONS - 1
        return answered, longest

    answered, longest = with_listener(BOUNDS, talk, _answering)

    assert answered > 1
    assert longest < 5
