"""A carrier's HTTP interface (`docs/carrier.md`, Lifting a pause): one POST, answered DONE or REFUSED.

Any other result (another status, an unreadable or too large body, a timeout) is an outage: the carrier may or may not
have acted. The token is sent in the request's header only.
"""

import asyncio
from typing import Final, Literal

import httpx
import msgspec

from tripline import config
from tripline.ports.carriers import CarrierRefusedError
from tripline.ports.outages import Outage

ANSWER_MAX: Final = 65_536
"""Bytes of an answer that are read."""
_NOT_DONE: Final = frozenset({400, 404, 409, 422})
"""Statuses with which a carrier may refuse; others say that it is away or that our address or token is wrong."""


class _Answer(msgspec.Struct):
    result: Literal["DONE", "REFUSED"]
    message: str = ""


class HttpCarrier:
    """Implements `ports.carriers.CarrierLines` over HTTP. Close it at the end."""

    def __init__(self, settings: config.Carrier) -> None:
        self._address = f"{settings.url.rstrip('/')}/unpause"
        self._timeout_s = settings.timeout_s
        authorization = {"Authorization": f"Bearer {settings.token}"} if settings.token else {}
        self._client = httpx.AsyncClient(
            headers={"Accept-Encoding": "identity", **authorization},
            timeout=settings.timeout_s,
            follow_redirects=False,
            trust_env=False,
            limits=httpx.Limits(max_connections=20),
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def unpause(self, mdn: str, *, request_id: str) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._asked({"mdn": mdn, "requestId": request_id})
        except TimeoutError as error:
            raise Outage("The carrier did not answer in time.") from error
        if answer.result == "REFUSED":
            raise CarrierRefusedError(answer.message)

    async def _asked(self, body: dict[str, str]) -> _Answer:
        try:
            async with self._client.stream(
                "POST", self._address, json=body, headers={"Idempotency-Key": body["requestId"]}
            ) as response:
                if response.status_code != httpx.codes.OK and response.status_code not in _NOT_DONE:
                    raise Outage(f"The carrier answered with HTTP status {response.status_code}.")
                answer = msgspec.json.decode(await _content(response), type=_Answer)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Outage("The carrier's answer cannot be read.") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # Its text may quote a header; the sort of error says enough.
            raise Outage(f"The carrier cannot be reached: {type(error).__name__}.") from None
        if answer.result == "DONE" and response.status_code != httpx.codes.OK:
            raise Outage("The carrier's answer contradicts its HTTP status.")
        return answer


async def _content(response: httpx.Response) -> bytes:
    """The body. Raises `Outage` above `ANSWER_MAX`, without reading the rest."""
    content = b""
    async for chunk in response.aiter_raw(8_192):
        content += chunk
        if len(content) > ANSWER_MAX:
            raise Outage("The carrier's answer is too long.")
    return content
