"""The events 101 to 116 of simulated devices, by type of device (spec/device-messages 3.2, 6).

GPS devices and digital tachographs report none.
"""

import random
from collections.abc import Callable
from typing import Final

import msgspec

from tripline.simulator.motion import Moment
from tripline.simulator.payloads import Payload

EVENTS: Final[dict[str, tuple[int, ...]]] = {
    "GPS": (),
    "OBD": (101, 102, 103, 104, 105, 106),
    "ADAS": (107,),
    "BLACKBOX": (108, 109, 110, 111, 112),
    "DTAG": (113, 114, 115, 116),
    "DTG": (),
    "AVN": (114,),
}
"""Type of device -> the numbers of its events."""


class Scene(msgspec.Struct, frozen=True):
    """Place and time of an event."""

    device: str
    tid: int
    time_ms: int
    moment: Moment
    rng: random.Random

    @property
    def place(self) -> Payload:
        """`lat`, `lon`."""
        return {"lat": self.moment.lat, "lon": self.moment.lon}

    @property
    def recorded(self) -> Payload:
        """Keys of every event of a driving tag."""
        return {"tid": self.tid, **self.place, "clt": self.time_ms}


def payload(number: int, scene: Scene) -> Payload:
    """The payload of the event with this number."""
    return _PAYLOADS[number](scene)


def _trouble_codes(scene: Scene) -> Payload:
    codes = scene.rng.sample(("P0301", "P0420", "P0171", "B1000", "U0100"), scene.rng.randint(1, 3))
    return {"tid": scene.tid, "dtcc": ",".join(codes), "dtck": scene.rng.randint(0, 2), "dtcs": len(codes)}


def _unplugged(scene: Scene) -> Payload:
    return {"tid": scene.tid, "unpt": scene.time_ms - scene.rng.randint(60, 600) * 1_000, "pt": scene.time_ms}


def _adas(scene: Scene) -> Payload:
    seen = {"dir": 30, "sp": scene.moment.speed_kmh, "ldw": scene.rng.choice((30, 31, 32))}
    return {"tid": scene.tid, **scene.place, "dop": 1.1, "nos": 9, **seen, "fcw": scene.rng.choice((30, 31, 32))}


def _booted(scene: Scene) -> Payload:
    versions = {"fwv": "1.2.0", "bfwv": "3.1.4", "bnm": "SIM-BB", "mfwv": "0.9", "sfwv": "2.2"}
    return {"auth": scene.rng.randint(1, 10**9), **versions, "fqual": 2, "spk": 5, "mic": 5, "sac": 1, "laoc": 0}


def _mode(scene: Scene) -> Payload:
    counts = {"psc": scene.rng.randint(0, 2), "pmc": scene.rng.randint(0, 9), "cam": 0}
    return {"mod": scene.rng.randint(0, 3), **scene.place, "tim": scene.time_ms, **counts}


def _settings(scene: Scene) -> Payload:
    return {"fqual": 2, "dcs": scene.rng.randint(1, 5), "pcs": 3, "parke": 1, "cuv": 118, "drmc": 0, "crst": 0}


def _picture(scene: Scene) -> Payload:
    address = f"https://pictures.example/{scene.time_ms}.jpg"
    return {"kind": scene.rng.randint(0, 3), "url": address, **scene.place, "tm": scene.time_ms}


def _alarm(scene: Scene) -> Payload:
    kind = scene.rng.randint(0, 23)
    measured = {"ldws": scene.rng.randint(5, 40)} if kind in (12, 13) else {"fcws": 450} if kind == 14 else {}
    return {"wid": kind, **scene.place, "tim": scene.time_ms, **measured}


def _g_or_avn(scene: Scene) -> Payload:
    if scene.device != "AVN":
        return scene.recorded | {"gvl": round(scene.rng.uniform(1.5, 6), 2)}
    return {"wid": scene.rng.randint(0, 2), **scene.place, "wip": scene.rng.randint(0, 1), "tim": scene.time_ms}


_PAYLOADS: Final[dict[int, Callable[[Scene], Payload]]] = {
    101: _trouble_codes,
    102: lambda scene: {"tid": scene.tid, "dclat": scene.moment.lat, "dclon": scene.moment.lon},
    103: lambda scene: {"tid": scene.tid, "plat": scene.moment.lat, "plon": scene.moment.lon},
    104: lambda scene: {"tid": scene.tid, "wbv": round(scene.rng.uniform(10.8, 11.9), 2)},
    105: _unplugged,
    106: lambda scene: {"tid": scene.tid, "rs": scene.rng.choice(("ignition off", "low voltage", "sleep mode"))},
    107: _adas,
    108: _booted,
    109: _mode,
    110: _settings,
    111: _picture,
    112: _alarm,
    113: lambda scene: scene.recorded,
    114: _g_or_avn,
    115: lambda scene: scene.recorded | {"cht": scene.rng.randint(1, 9)},
    116: lambda scene: scene.recorded | {"ctime": scene.rng.randint(30, 300)},
}
