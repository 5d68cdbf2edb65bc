"""Lines of a carrier: the questions that it answers about one."""

from typing import Protocol


class CarrierRefusedError(Exception):
    """The carrier answered that it will not do it; the text says why, in its words cut short."""


class CarrierLines(Protocol):
    """What is asked of the carrier about a line."""

    async def unpause(self, mdn: str, *, request_id: str) -> None:
        """Lift the pause of the line with this telephone number; asked twice with one request id, it happens once.

        Raises `CarrierRefusedError`, or `Outage` when it is not known whether it was done.
        """
