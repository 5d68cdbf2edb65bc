"""The news about a device's connection for customers (push class 500). A device that flaps makes none.

A device that comes is news at once when customers heard last that it is away, or never heard of it. A device
that is lost is news only when it does not come back for a while; one that is taken over or comes back in time was never
away:

    told away --comes--> told there --lost, back in time--> told there
                                    --lost for `absent_s`--> told away

While the platform itself is away nobody can come back, so the while begins anew when it is there again.

Not here: who is connected (`services/presence.py`), who gets the push (`pushes.py`).
"""


def comes_as_news(*, told: bool) -> bool:
    """Whether customers are to be told that a device is there; `told` is what they were told last, False when
    nothing."""
    return not told


def away_since_ms(*, now_ms: int, watching_since_ms: int, absent_ms: int) -> int | None:
    """Devices that were lost at or before this instant, and are not back, are away; None while none is.

    `watching_since_ms` is when the platform began to see who comes, after a start or an outage.
    """
    before_ms = now_ms - absent_ms
    return before_ms if before_ms >= watching_since_ms else None
