"""Faults of devices, done to a drive: the same drive again, as a worse device would have sent it.

A drive is a dictionary of columns (`t` seconds, `lat`, `lon`, `speed` km/h, and perhaps `em`), in the order received.
"""

import json
from collections.abc import Callable
from typing import Any, Final

import numpy as np

Drive = dict[str, Any]
Fault = Callable[[Drive], Drive]
METRES_PER_DEGREE: Final = 111_195.08


def _with(drive: Drive, **columns: Any) -> Drive:
    return drive | columns


def moved(drive: Drive, at: Any, north_m: Any, east_m: Any = 0.0) -> Drive:
    """These samples moved by metres to the north and east."""
    lat, lon = drive["lat"].copy(), drive["lon"].copy()
    lat[at] += north_m / METRES_PER_DEGREE
    lon[at] += east_m / METRES_PER_DEGREE / np.cos(np.radians(drive["lat"].mean()))
    return _with(drive, lat=lat, lon=lon)


def rows_of(drive: Drive, rows: Any) -> Drive:
    """These rows alone, in this order."""
    size = drive["t"].size
    return {name: column[rows] if np.ndim(column) and len(column) == size else column for name, column in drive.items()}


def _middle(drive: Drive) -> int:
    """A sample in the middle, at speed."""
    half = drive["t"].size // 2
    return half + int(np.argmax(drive["speed"][half : half + 60]))


def one_degree_off(drive: Drive) -> Drive:
    """One position a degree further north."""
    return moved(drive, _middle(drive), METRES_PER_DEGREE)


def latitude_0(drive: Drive) -> Drive:
    """One position on the equator, as a receiver sends that has none."""
    lat = drive["lat"].copy()
    lat[_middle(drive)] = 0
    return _with(drive, lat=lat)


def nowhere(drive: Drive) -> Drive:
    """Two positions in a row at 0, 0."""
    lat, lon = drive["lat"].copy(), drive["lon"].copy()
    at = _middle(drive)
    lat[at : at + 2] = lon[at : at + 2] = 0
    return _with(drive, lat=lat, lon=lon)


def first_fix_elsewhere(drive: Drive) -> Drive:
    """The first position is where the device was made."""
    return moved(drive, 0, 300_000)


def noise(drive: Drive, metres: float = 10.0) -> Drive:
    """White noise on every position."""
    rng = np.random.default_rng(5)
    size = drive["t"].size
    return moved(drive, slice(None), rng.normal(0, metres, size), rng.normal(0, metres, size))


def standing_drift(drive: Drive) -> Drive:
    """Half an hour of standing at the end, while positions wander."""
    rng = np.random.default_rng(6)
    size = 1_800
    wander = np.cumsum(rng.normal(0, 1.5, size)), np.cumsum(rng.normal(0, 1.5, size))
    longer = {
        "t": np.append(drive["t"], drive["t"][-1] + 1 + np.arange(size)),
        "lat": np.append(drive["lat"], np.full(size, drive["lat"][-1])),
        "lon": np.append(drive["lon"], np.full(size, drive["lon"][-1])),
        "speed": np.append(drive["speed"], np.zeros(size)),
    }
    return moved(_with(drive, **longer), slice(-size, None), *wander)


def in_unit(factor: float) -> Fault:
    """Speeds in another unit than km/h."""
    return lambda drive: _with(drive, speed=np.round(drive["speed"] * factor, 2))


def some_missing(drive: Drive) -> Drive:
    """One speed in twenty is missing."""
    speed = drive["speed"].copy()
    speed[np.random.default_rng(7).random(speed.size) < 0.05] = np.nan
    return _with(drive, speed=speed)


def sentinels(drive: Drive) -> Drive:
    """One speed in fifty is 255 or 65535."""
    rng = np.random.default_rng(8)
    speed = drive["speed"].copy()
    at = rng.random(speed.size) < 0.02
    speed[at] = rng.choice([255.0, 65_535.0], at.sum())
    return _with(drive, speed=speed)


def lone_speeds(drive: Drive) -> Drive:
    """One speed in fifty falls to 0 for a sample, or jumps 30 km/h up, while the vehicle drives on."""
    rng = np.random.default_rng(9)
    speed = drive["speed"].copy()
    change = np.abs(np.diff(speed))
    calm = [i for i in range(3, speed.size - 3) if speed[i] > 15 and change[i - 3 : i + 3].max() <= 4]
    for at in rng.choice(calm, max(len(calm) // 50, 1), replace=False):
        if np.array_equal(speed[at - 3 : at + 4], drive["speed"][at - 3 : at + 4]):
            speed[at] = 0 if rng.random() < 0.5 else speed[at] + 30
    return _with(drive, speed=speed)


def no_speed(drive: Drive) -> Drive:
    """No speed at all."""
    return _with(drive, speed=np.full(drive["t"].size, np.nan))


def constant_em(drive: Drive) -> Drive:
    """An OBD dongle whose kit sends 0 with each sample."""
    return _with(drive, em=np.zeros(drive["t"].size, np.int16), obd=True)


def late(drive: Drive) -> Drive:
    """A minute of the middle comes at the end."""
    size = drive["t"].size
    rows = np.arange(size)
    return rows_of(drive, np.concatenate([rows[: size // 2], rows[size // 2 + 60 :], rows[size // 2 : size // 2 + 60]]))


def backlog_beside_live(drive: Drive) -> Drive:
    """The first half comes beside the second, sample by sample."""
    half = drive["t"].size // 2
    return rows_of(drive, np.stack([np.arange(half, 2 * half), np.arange(half)], axis=1).ravel())


def twice(drive: Drive) -> Drive:
    """A tenth is sent twice."""
    rows = np.arange(drive["t"].size)
    tenth = rows.size // 10
    return rows_of(drive, np.concatenate([rows[: 5 * tenth], rows[4 * tenth :]]))


def clock_back(seconds: float) -> Fault:
    """The clock is set back in the middle."""

    def done(drive: Drive) -> Drive:
        t = drive["t"].copy()
        t[_middle(drive) :] -= seconds
        return _with(drive, t=t)

    return done


def clock_forward(drive: Drive) -> Drive:
    """The clock is set forward by ten minutes in the middle."""
    t = drive["t"].copy()
    t[_middle(drive) :] += 600
    return _with(drive, t=t)


def stated(part: float) -> Fault:
    """The trip message states this part of the true distance, which the drive's column `metres` says."""
    return lambda drive: _with(drive, stated_m=drive["metres"] * part)


def thinned(step: int) -> Fault:
    """Every second, third or fourth sample alone."""
    return lambda drive: rows_of(drive, slice(None, None, step))


NOISY: Final[dict[str, Fault]] = {
    "3 m of noise": lambda drive: noise(drive, 3.0),
    "10 m of noise": noise,
}
"""What leaves the score as it is, and the distance nearly so: it is the speed's then."""

SAME: Final[dict[str, Fault]] = {
    "one position a degree off": one_degree_off,
    "one latitude of 0": latitude_0,
    "two positions at 0, 0": nowhere,
    "first fix elsewhere": first_fix_elsewhere,
    "standing drift": standing_drift,
    "5 % of speeds missing": some_missing,
    "2 % of speeds 255 or 65535": sentinels,
    "2 % lone bad speeds": lone_speeds,
    "em always 0": constant_em,
    "a minute late": late,
    "backlog beside live": backlog_beside_live,
    "a tenth twice": twice,
    "clock back 20 s": clock_back(20),
    "clock back an hour": clock_back(3_600),
    "clock back nine hours": clock_back(32_400),
    "clock forward": clock_forward,
    **NOISY,
    "states ten times the distance": stated(10),
    "states a tenth of the distance": stated(0.1),
}
"""What has to leave the score as it is."""

REFUSED: Final[dict[str, Fault]] = {
    "metres per second": in_unit(1 / 3.6),
    "knots": in_unit(1 / 1.852),
    "miles per hour": in_unit(1 / 1.609344),
    "always 0": in_unit(0),
}
"""What cannot be judged."""


def messages(drive: Drive, start_ms: int, *, items: int = 10) -> list[bytes]:
    """The messages of a drive that begins at this instant, in the order of its rows, and its trip message.

    Rows whose column `untimed` is true are sent without a time of their own.
    """
    size = drive["t"].size
    at_ms = start_ms + np.round(drive["t"] * 1_000).astype(int)
    keys: dict[str, Any] = {"tid": np.ones(size, int), "clt": at_ms, "lat": drive["lat"], "lon": drive["lon"]}
    keys |= {key: drive[name] for key, name in _KEYS.items() if name in drive}
    if "em" in drive:
        keys["em"] = np.array([f"{bits:02x}" for bits in drive["em"].tolist()])
    rows = zip(*(column.tolist() for column in keys.values()), strict=True)
    samples = [{key: value for key, value in zip(keys, row, strict=True) if value == value} for row in rows]
    for row in np.flatnonzero(drive.get("untimed", np.zeros(size, np.bool_))).tolist():
        del samples[row]["clt"]
    sent = [
        {"ty": 2, "ts": int(at_ms[first]), "pld": samples[first : first + items]} for first in range(0, size, items)
    ]
    trip = {"tid": 1, "stt": int(at_ms.min()), "edt": int(at_ms.max())}
    if "stated_m" in drive:
        trip["dis"] = drive["stated_m"]
    return [json.dumps(each).encode() for each in (*sent, {"ty": 1, "ts": trip["edt"], "pld": trip})]


_KEYS: Final = {"sp": "speed", "nos": "nos", "dop": "dop"}
"""Key of a sample -> column."""
