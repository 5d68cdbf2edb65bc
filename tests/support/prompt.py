"""Devices that answer calls on the test's own event loop, so that a call can be made the moment the SUBACK is there."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from tests.support.gateways import Client
from tripline.mqtt import packets
from tripline.wire import topics

SUCCESS = {"results": 2000}
_BODY = json.dumps(SUCCESS).encode()


@contextlib.asynccontextmanager
async def subscribed(
    address: tuple[str, int], tls: ssl.SSLContext, token: str
) -> AsyncIterator[tuple[Client, list[packets.Publish]]]:
    """A device, from its SUBACK on, and the calls that it got; it acknowledges each and reports success."""
    client = await Client.connected(address, tls, user_name=token)
    client.send(packets.Subscribe(1, ((topics.RPC_REQUESTS, 1),)))
    assert await client.next() == packets.Suback(1, (1,))
    calls: list[packets.Publish] = []
    answering = asyncio.create_task(_answer(client, calls))
    try:
        yield client, calls
    finally:
        answering.cancel()
        await asyncio.wait([answering])
        client.send(packets.Disconnect())
        await client.close()


async def asked_at_once(
    address: tuple[str, int], tls: ssl.SSLContext, token: str, ask: Callable[[], Awaitable[Any]]
) -> Any:
    """What `ask` gives when it is begun in the moment in which the device has its SUBACK."""
    async with subscribed(address, tls, token):
        return await ask()


async def _answer(client: Client, calls: list[packets.Publish]) -> None:
    """Acknowledge calls and report success, until the server ends the connection."""
    while True:
        try:
            packet = await client.next()
        except TimeoutError:
            continue
        if packet is None:
            return
        if isinstance(packet, packets.Publish):
            calls.append(packet)
            request_id = packet.topic.removeprefix(topics.RPC_REQUEST)
            answers = (topics.RPC_RESPONSE, topics.RPC_RESULT)
            sent = [packets.Publish(answer + request_id, _BODY, 1, number) for number, answer in enumerate(answers, 1)]
            client.send(packets.Puback(packet.packet_id), *sent)
