"""Requests to customers' servers."""

from collections.abc import Callable
from typing import Final, Protocol

import msgspec


class Webhook(msgspec.Struct, frozen=True):
    """A request to a customer's server."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Answered(msgspec.Struct, frozen=True):
    """The parts of a server's answer that decide about the message."""

    status: int
    retry_after: str | None = None
    """`Retry-After` as it came with a 429 or 503."""


class WebhookFailedError(Exception):
    """No status line came in time, or requests to the address are forbidden; the text gives the reason, without the
    address."""


UNANSWERED: Final = "The server accepted the message but did not answer."


class WebhookUnansweredError(WebhookFailedError):
    """The server took the connection and the whole request; neither a byte nor the end came in time (spec/push M1)."""

    def __init__(self) -> None:
        super().__init__(UNANSWERED)


class Listening(msgspec.Struct, frozen=True):
    """How to send to a server that takes messages and never answers: continue early, and keep listening."""

    place_s: float
    """How long to wait for an answer once the whole request is written."""
    heard: Callable[[Answered], None]
    """Called on the event loop with an answer that comes later, within the usual time."""


class WebhookReply(msgspec.Struct, frozen=True):
    """A customer's server's answer, for display."""

    status: int
    took_ms: int
    """From the request to its status line."""
    start: bytes
    """How the body begins, 1,000 bytes at most."""


class WebhookSender(Protocol):
    """Sends requests to servers of customers, and follows no redirect."""

    async def post(self, webhook: Webhook, listening: Listening | None = None) -> Answered | None:
        """The answer, without waiting for its body; None when the connection keeps listening.

        Raises `WebhookFailedError` or its subclass `WebhookUnansweredError`.
        """

    async def ask(self, webhook: Webhook) -> WebhookReply:
        """The answer, for display. Raises as `post`."""
