"""Notices to customers about a device's connection (push class 500). A flapping device causes none.

A device that connects is reported at once if customers last heard that it is away, or never heard of it. A lost device
is reported only after a while; one that is taken over or returns in time was never away:

    reported away --connects--> reported there --lost, back in time--> reported there
                                               --lost for `absent_s`--> reported away

During an outage of the platform no device can return, so the interval restarts afterwards.

Not here: who is connected (`services/presence.py`), who gets the push (`pushes.py`).
"""


def comes_as_news(*, told: bool) -> bool:
    """Return whether a connected device must be reported; `told`: customers already know that it is connected."""
    return not told


def away_since_ms(*, now_ms: int, watching_since_ms: int, absent_ms: int) -> int | None:
    """Devices that were lost at or before this instant, and are not back, are away; None: no device is away yet.

    `watching_since_ms` is when the platform began to see connections, after a start or an outage.
    """
    before_ms = now_ms - absent_ms
    return before_ms if before_ms >= watching_since_ms else None
