"""The stream of the live map, as server-sent events (spec/positions 5).

It is sent as it comes: proxies must neither buffer nor compress it, and its headers ask them not to. An open stream
does not prolong the session.
"""

import asyncio
import contextlib
from typing import Final

from litestar.response import Response
from litestar.types import Receive, Scope, Send

from tripline.domain.access import Action
from tripline.http import answers, authentication, permission
from tripline.http.context import Call, context_of, feed_of
from tripline.portal.frame import views
from tripline.portal.frame.page import page
from tripline.services import shares
from tripline.services.live.audience import Stream
from tripline.services.live.feed import ManyStreams

EVENTS: Final = "text/event-stream"
_CURSOR: Final = "last-event-id"
_HEADERS: Final = {
    **views.HEADERS,
    "content-type": EVENTS,
    # `no-transform` keeps proxies from compressing it, the other header nginx from buffering it.
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
}


@page("GET", "/map/stream", access=Action.DRIVING_READ, answer_type=EVENTS, refuses=(ManyStreams,))
async def stream(request: Call) -> Response[bytes]:
    """Changes of vehicles within reach as they happen, from the position that `Last-Event-ID` names."""
    authentication.in_background(request)
    actor = await permission.permitted(request)
    holder = await context_of(request).store.read_short(lambda tx: shares.holder(tx, actor))
    feed = feed_of(request)
    opened = feed.join(
        actor=actor,
        holder=holder,
        cursor=request.headers.get(_CURSOR),
        recheck=lambda tx: authentication.still(tx, request),
    )

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            headers = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            async with asyncio.TaskGroup() as tasks:
                sending = tasks.create_task(_send(opened, send))
                listening = tasks.create_task(_closed(receive))
                await asyncio.wait((sending, listening), return_when=asyncio.FIRST_COMPLETED)
                for each in (sending, listening):
                    each.cancel()
        finally:
            feed.leave(opened)

    return answers.Made(answer)


async def _send(stream: Stream, send: Send) -> None:
    async with contextlib.aclosing(stream.pieces()) as pieces:
        async for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _closed(receive: Receive) -> None:
    """Return once the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
