"""The microtrips and trips of each type of device: the keys of spec/device-messages 5.

Written from the published tables, not from the platform's readers, so that a simulated fleet tests those.
"""

import random
from collections.abc import Callable
from typing import Any, Final

import msgspec

from tripline.simulator.motion import Moment

Payload = dict[str, Any]

TYPES: Final = ("GPS", "OBD", "ADAS", "BLACKBOX", "DTAG", "DTG", "AVN")
"""The types of devices, as registered."""
TRIP_NUMBER: Final = {"GPS": 1, "OBD": 3, "ADAS": 5, "BLACKBOX": 7, "DTAG": 9, "DTG": 9, "AVN": 11}
"""`ty` of the trip message of a type; its microtrip has the next number."""
DRIVING: Final = 1
PARKING: Final = 2
"""Values of `try` (BlackBox)."""


class Journey(msgspec.Struct, frozen=True, kw_only=True):
    """A finished drive; times in epoch ms."""

    tid: int
    start_ms: int
    end_ms: int
    first: Moment
    last: Moment
    highest_kmh: float

    @property
    def metres(self) -> int:
        """Its length."""
        return round(self.last.distance_m)

    @property
    def mean_kmh(self) -> float:
        """Its mean speed."""
        return round(self.last.distance_m / max(self.last.at_s, 1) * 3.6, 1)


class Instruments:
    """A vehicle's instruments: write payloads of one type of device, plausible and the same for the same seed."""

    def __init__(self, device: str, rng: random.Random, plate: str) -> None:
        self._sample = _SAMPLES[device]
        self._trip = _TRIPS[device]
        self.rng = rng
        self.plate = plate
        self.odometer_m = rng.randint(5_000, 150_000) * 1_000
        self._before_m = 0.0

    def sample(self, tid: int, time_ms: int, moment: Moment) -> Payload:
        """One item of a microtrip."""
        payload = {"tid": tid, "lat": moment.lat, "lon": moment.lon, "clt": time_ms} | self._sample(self, moment)
        self._before_m = moment.distance_m
        return payload

    def trip(self, journey: Journey) -> Payload:
        """The payload of the trip message."""
        self.odometer_m += journey.metres
        self._before_m = 0.0
        return {"tid": journey.tid} | self._trip(self, journey)

    def parked(self, tid: int, time_ms: int, parked_s: int) -> Payload:
        """One item of a black box that records while parked."""
        volts, degrees = round(12.6 - parked_s / 36_000, 2), self.rng.randint(18, 34)
        return {"tid": tid, "clt": time_ms, "try": PARKING, "vlt": volts, "tem": degrees, "tim": parked_s}

    def moved_m(self, moment: Moment) -> int:
        """Metres since the last sample."""
        return round(moment.distance_m - self._before_m)

    def rpm(self, moment: Moment) -> int:
        """Engine speed that fits the movement."""
        return round(800 + moment.speed_kmh * 22 + max(moment.rate, 0) * 90 + self.rng.uniform(-30, 30))


def _gps(box: Instruments, moment: Moment) -> Payload:
    altitude, dop = round(30 + box.rng.uniform(-2, 2), 1), round(box.rng.uniform(0.8, 1.6), 1)
    satellites = box.rng.randint(7, 12)
    return {"alt": altitude, "sp": moment.speed_kmh, "dop": dop, "nos": satellites, "tdis": box.moved_m(moment)}


def _obd(box: Instruments, moment: Moment) -> Payload:
    pedal = min(100, max(0, round(moment.rate * 9 + moment.speed_kmh / 6)))
    return {
        "sp": round(moment.speed_kmh), "rpm": box.rpm(moment), "em": f"{moment.flags:02x}", "el": min(100, pedal + 12),
        "vv": round(box.rng.uniform(13.6, 14.4), 1), "tpos": pedal, "fc": box.moved_m(moment) // 12 + 1,
        "lc": box.rng.randint(2, 9), "cdit": round(moment.distance_m),
        "xyz": f"{moment.rate / 35.3:.2f},{box.rng.uniform(-0.05, 0.05):.2f},{box.rng.uniform(-2, 2):.1f}",
    }  # fmt: skip


def _adas(box: Instruments, moment: Moment) -> Payload:
    warned = box.rng.random() < 0.02
    return {
        "dop": round(box.rng.uniform(0.8, 1.6), 1), "nos": box.rng.randint(7, 12),
        "dir": box.rng.choice((30, 30, 31, 32)), "sp": moment.speed_kmh, "ldw": 31 if warned else 30,
        "rld": box.rng.randint(30, 90), "lld": box.rng.randint(30, 90),
        "fcw": 32 if moment.rate < -12 else 30, "hdw": box.rng.randint(8, 60), "brk": int(moment.rate < -1),
        "chcmr": 0, "chdir": 0, "chbrk": 0,
    }  # fmt: skip


def _blackbox(box: Instruments, moment: Moment) -> Payload:
    return {"try": DRIVING, "sp": moment.speed_kmh, "rssi": box.rng.randint(900, 1_000)}


def _dtag(_: Instruments, __: Moment) -> Payload:
    return {}


def _dtg(box: Instruments, moment: Moment) -> Payload:
    temperatures = ",".join(str(box.rng.randint(2, 6)) for _ in range(2))
    return {
        "dtr": round(moment.distance_m), "dctr": box.odometer_m + round(moment.distance_m),
        "sp": round(moment.speed_kmh), "rpm": box.rpm(moment), "bsg": int(moment.rate < -1),
        "gan": round(moment.heading) % 360, "acx": f"{moment.rate * 28:.0f}",
        "acy": f"{box.rng.uniform(-20, 20):.0f}", "tmp": temperatures, "tploc": "front,rear", "door": 0,
    }  # fmt: skip


def _avn(box: Instruments, moment: Moment) -> Payload:
    gear = 0 if moment.speed_kmh == 0 else min(6, 1 + int(moment.speed_kmh // 18))
    return {
        "sp": round(moment.speed_kmh), "bsg": int(moment.rate < -1), "sas": box.rng.randint(0, 360), "gr": gear,
        "rgr": 0, "tmp": 21, "odo": (box.odometer_m + round(moment.distance_m)) // 1_000,
    }  # fmt: skip


def _ends(journey: Journey) -> Payload:
    first, last = journey.first, journey.last
    return {"stlat": first.lat, "stlon": first.lon, "edlat": last.lat, "edlon": last.lon}


def _speeds(journey: Journey) -> Payload:
    return {"hsts": journey.highest_kmh, "mesp": journey.mean_kmh}


def _gps_trip(_: Instruments, journey: Journey) -> Payload:
    times = {"stt": journey.start_ms, "edt": journey.end_ms}
    return times | {"dis": journey.metres} | _ends(journey) | _speeds(journey) | {"fwv": "1.4.2"}


def _obd_trip(box: Instruments, journey: Journey) -> Payload:
    seconds = (journey.end_ms - journey.start_ms) // 1_000
    return {
        "stt": journey.start_ms, "edt": journey.end_ms, "dis": journey.metres, "tdis": box.odometer_m,
        "fc": journey.metres // 12, "ctp": box.rng.randint(82, 94), "coe": round(journey.metres * 0.16, 1),
        "fct": seconds // 9, "idt": seconds // 7, "btv": 12.5, "gnv": 14.4, "wut": box.rng.randint(0, 40),
        "usm": "010-0000-0000", "est": 0, "fwv": "2.0.17", "dtvt": seconds,
    } | _ends(journey) | _speeds(journey)  # fmt: skip


def _end_alone(_: Instruments, journey: Journey) -> Payload:
    return {"lat": journey.last.lat, "lon": journey.last.lon}


def _adas_trip(box: Instruments, journey: Journey) -> Payload:
    return _end_alone(box, journey) | {"dop": 1.1, "nos": 9}


def _blackbox_trip(_: Instruments, journey: Journey) -> Payload:
    return {"clt": journey.end_ms, "dis": journey.metres, "try": DRIVING, "vlt": 12.6} | _ends(journey)


def _dtg_trip(box: Instruments, journey: Journey) -> Payload:
    recorder = {"dmid": "SIM-DTG", "vin": "KMHSIM00000000001", "vcat": 21, "vrid": box.plate, "vbid": "0000000000"}
    return _end_alone(box, journey) | recorder | {"did": "D-0001"}


def _avn_trip(box: Instruments, journey: Journey) -> Payload:
    return {"clt": journey.end_ms, "odo": box.odometer_m // 1_000} | _ends(journey)


_SAMPLES: Final[dict[str, Callable[[Instruments, Moment], Payload]]] = {
    "GPS": _gps, "OBD": _obd, "ADAS": _adas, "BLACKBOX": _blackbox, "DTAG": _dtag, "DTG": _dtg, "AVN": _avn,
}  # fmt: skip
_TRIPS: Final[dict[str, Callable[[Instruments, Journey], Payload]]] = {
    "GPS": _gps_trip, "OBD": _obd_trip, "ADAS": _adas_trip, "BLACKBOX": _blackbox_trip,
    "DTAG": _end_alone, "DTG": _dtg_trip, "AVN": _avn_trip,
}  # fmt: skip
