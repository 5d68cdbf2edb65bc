"""The receivers and drives that the report compares, and the precision and recall that its gates ask for.

Speeds are in whole km/h with 0.2 km/h of noise, one a second, unless the name of a case says otherwise.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from tests.support import box_dirt, dirty

from evaluation.made import PLAIN, USUAL, Drive, Manner, Receiver
from tripline.scoring.quality import HarshSource
from tripline.scoring.rules import Column

CAR, BUS, TRUCK = Column
LONG: Final = Manner(lasting_s=(2.5, 5.0))
"""Shorter manoeuvres cannot be seen at one sample in two seconds."""
LAGGING: Final = (0.5, 1.0)


class Asked(NamedTuple):
    """What a gate asks for."""

    precision: float
    recall: float


class Case(NamedTuple):
    """Drives of every class, as one kind of receiver reports them."""

    name: str
    receiver: Receiver = PLAIN
    manner: Manner = USUAL
    fault: Callable[[Drive], Drive] | None = None
    asked: Mapping[Column, Asked] = MappingProxyType({})
    """Empty: reported without a gate."""
    peers: bool = False
    """True if the peers judge it too."""


GATED: Final = (
    Case(
        "1 s",
        asked={CAR: Asked(0.92, 0.92), BUS: Asked(0.92, 0.88), TRUCK: Asked(0.92, 0.88)},
        peers=True,
    ),
    Case("1 s, noise 0.5", Receiver(noise_kmh=0.5), asked=dict.fromkeys(Column, Asked(0.85, 0.85))),
    Case("2 s", Receiver(interval_s=2), LONG, asked=dict.fromkeys(Column, Asked(0.9, 0.75)), peers=True),
    Case("10 Hz", Receiver(interval_s=0.1), asked=dict.fromkeys(Column, Asked(0.9, 0.85))),
    Case(
        "10 Hz, noise 0.5",
        Receiver(interval_s=0.1, noise_kmh=0.5),
        asked={CAR: Asked(0.9, 0.85), BUS: Asked(0.9, 0.85), TRUCK: Asked(0.85, 0.85)},
    ),
)
CERTAINTY: Final = {
    (HarshSource.SPEEDS, step, seconds): Case(f"{seconds:g} s, steps of {step:g} km/h", Receiver(seconds, step))
    for step in (0.1, 1.0, 5.0)
    for seconds in (1.0, 2.0, 3.0, 4.0)
} | {
    (HarshSource.POSITIONS, 0.0, 1.0): Case(
        "1 s, exact positions", Receiver(smoothing_s=(0, 0), noise_m=0), fault=dirty.no_speed
    )
}
"""Source of harsh events, step of the device's speeds and interval: the drives that tell the certainty of events."""
REPORTED: Final = (
    Case("3 s", Receiver(interval_s=3), LONG, peers=True),
    Case("4 s", Receiver(interval_s=4), LONG, peers=True),
    Case("2 Hz", Receiver(interval_s=0.5)),
    Case("5 Hz", Receiver(interval_s=0.2)),
    Case("1 s, tenths of km/h", Receiver(step_kmh=0.1)),
    Case("2 s, tenths of km/h", Receiver(interval_s=2, step_kmh=0.1), LONG),
    Case("10 Hz, tenths of km/h", Receiver(interval_s=0.1, step_kmh=0.1)),
    Case("1 s, smoothing 0.5 to 1 s", Receiver(smoothing_s=LAGGING)),
    Case("2 s, smoothing 0.5 to 1 s", Receiver(interval_s=2, smoothing_s=LAGGING), LONG),
    Case("10 Hz, smoothing 0.5 to 1 s", Receiver(interval_s=0.1, smoothing_s=LAGGING)),
    Case("1 s, manoeuvres of 0.7 to 1.5 s", manner=Manner(lasting_s=(0.7, 1.5))),
    Case("2 s, manoeuvres of 1.5 to 2.5 s", Receiver(interval_s=2), Manner(lasting_s=(1.5, 2.5))),
    Case("10 Hz, manoeuvres of 0.7 to 1.5 s", Receiver(interval_s=0.1), Manner(lasting_s=(0.7, 1.5))),
    Case("1 s, manoeuvres of 1.0 to 1.1 thresholds", manner=Manner(harsh_range=(1.0, 1.1))),
    *(
        Case(name, fault=box_dirt.KINDS[name].make)
        for name in (
            "5 % of speeds missing",
            "positions every 3 s",
            "positions every 10 s",
            "fix lost for 3 s below 36 km/h",
            "fix lost for 10 s above 36 km/h",
            "+15 km/h for 4 s",
            "speed frozen for 5 s",
            "5 % of times twice",
            "an hour ahead for 100 samples",
        )
    ),
    Case("no speeds", fault=dirty.no_speed),
    Case("no speeds, exact positions", Receiver(noise_m=0), fault=dirty.no_speed),
)
