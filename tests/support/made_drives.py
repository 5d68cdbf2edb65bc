"""Small exact drives as the kernel's arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tripline.scoring import kernel
from tripline.scoring.drives import Drives
from tripline.scoring.findings import Findings
from tripline.scoring.quality import LimitSource
from tripline.scoring.rules import Column, Rules

NAN = float("nan")


def drives(*trips: dict[str, Any]) -> Drives:
    """Each trip: `speed` (km/h) or None, `t` (seconds, default one a second), and any other column by its name."""
    columns: dict[str, list[NDArray[np.float64]]] = {
        name: [] for name in ("t", "lat", "lon", "speed", "em", "limit", "source")
    }
    for trip in trips:
        n = len(trip["speed"]) if trip.get("speed") is not None else len(trip["t"])
        defaults = {
            "t": np.arange(n),
            "lat": np.full(n, 36.0),
            "lon": np.full(n, 127.0),
            "speed": np.full(n, NAN),
            "em": np.full(n, -1),
            "limit": np.full(n, NAN),
            "source": np.full(n, LimitSource.TAGGED),
        }
        for name, default in defaults.items():
            given = trip.get(name)
            columns[name].append(np.asarray(default if given is None else given, np.float64))
    flat = {name: np.concatenate([np.empty(0), *parts]) for name, parts in columns.items()}
    em, limit = flat["em"].astype(np.int16), flat["limit"]
    return Drives(
        starts=np.cumsum([0, *(len(part) for part in columns["t"])]),
        time_ms=np.round(flat["t"] * 1_000).astype(np.int64) + 1_735_689_600_000,
        lat=flat["lat"],
        lon=flat["lon"],
        speed_kmh=flat["speed"],
        em=em if (em >= 0).any() else None,
        limit_kmh=None if np.isnan(limit).all() else limit,
        limit_source=flat["source"].astype(np.int8),
        column=np.array([trip.get("column", Column.CAR) for trip in trips], np.int8),
        obd=np.array([trip.get("obd", False) for trip in trips], np.bool_),
        stated_m=np.array([trip.get("stated_m", NAN) for trip in trips], np.float64),
    )


def findings(*trips: dict[str, Any], rules: Rules | None = None) -> Findings:
    """The findings of these trips."""
    return kernel.findings(drives(*trips), rules or Rules())


def events(*trips: dict[str, Any], rules: Rules | None = None) -> list[tuple[int, int, float]]:
    """(trip, type, second of the trip's clock) of every event."""
    found = findings(*trips, rules=rules).events
    seconds = (found.time_ms - 1_735_689_600_000) / 1_000
    return list(zip(found.trip.tolist(), found.type.tolist(), seconds.tolist(), strict=True))


def types(speed: Sequence[float], rules: Rules | None = None, **trip: Any) -> list[int]:
    """Event types of one drive, after four quiet fixes at its first speed; one sample a second unless `t` says when."""
    if "t" in trip:
        trip["t"] = [-4, -3, -2, -1, *trip["t"]]
    found = events({"speed": [speed[0]] * 4 + list(speed), **trip}, rules=rules)
    return [kind for _, kind, _ in found]
