"""Lines of a carrier: requests to the carrier about a line."""

from typing import Protocol


class CarrierRefusedError(Exception):
    """The carrier refused the request; the text gives its reason, cut short."""


class CarrierLines(Protocol):
    """Requests to the carrier about a line."""

    async def unpause(self, mdn: str, *, request_id: str) -> None:
        """Lift the pause of the line with this telephone number; repeated calls with one request id take effect once.

        Raises `CarrierRefusedError`, or `Outage` when the outcome is unknown.
        """
