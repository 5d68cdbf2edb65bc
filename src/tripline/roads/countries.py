"""Default limits on roads without a sign, country by country, as OpenStreetMap's wiki lists them for cars.

Where a country has several for one kind of road, by lanes or region, the table has the highest, so that no driver is
charged with a false offence. Countries outside the table have no defaults.
"""

from typing import Final, NamedTuple

MPH: Final = 1.609344
"""km/h."""
WALK_KMH: Final = 7.0
"""Limit where walking pace is required: courts call 7 km/h still walking."""
NO_LIMIT: Final = 0.0


class Country(NamedTuple):
    """Limits for cars, km/h; 0: none; None: the country has no such road, or no such rule."""

    urban: float
    rural: float
    motorway: float | None = None
    expressway: float | None = None
    """A road for motor vehicles only (`motorroad`)."""
    living_street: float | None = None
    in_mph: bool = False
    """Its signs are in miles an hour."""


COUNTRIES: Final = {
    "AT": Country(50, 100, 130, 100, WALK_KMH),
    "BE": Country(50, 90, 120, 120, 20),
    "BG": Country(50, 90, 140, 120, 20),
    "CH": Country(50, 80, 120, 100, 20),
    "CZ": Country(50, 90, 130, 110, 20),
    "DE": Country(50, 100, NO_LIMIT, NO_LIMIT, WALK_KMH),
    "DK": Country(50, 80, 130, 80, 15),
    "ES": Country(50, 90, 120, 120, 20),
    "FI": Country(50, 80, 120, 100, 20),
    "FR": Country(50, 80, 130, 110, 20),
    "GB": Country(30 * MPH, 70 * MPH, 70 * MPH, in_mph=True),
    "GR": Country(50, 90, 130, 110, 20),
    "HR": Country(50, 90, 130, 110, 10),
    "HU": Country(50, 90, 130, 110, 20),
    "IE": Country(50, 100, 120),
    "IT": Country(50, 90, 130, 110),
    "JP": Country(60, 60, 100),
    "KR": Country(50, 80, 100, 90),
    "LI": Country(50, 80, None, None, 20),
    "LU": Country(50, 90, 130, 90, 20),
    "NL": Country(50, 80, 130, 100, 15),
    "NO": Country(50, 80),
    "PL": Country(50, 90, 140, 120, 20),
    "PT": Country(50, 90, 120, 100, 20),
    "RO": Country(50, 90, 130, 100, 20),
    "SE": Country(50, 70, 110, None, WALK_KMH),
    "SI": Country(50, 90, 130, 110, 10),
    "SK": Country(50, 90, 130, 90, 20),
}
"""By ISO 3166-1 alpha-2."""
MILES: Final = {name for name, country in COUNTRIES.items() if country.in_mph} | {"US"}
_BY_PLATE: Final = {"FL": "LI", "UK": "GB"}
"""Codes that mappers use in place of the ISO code."""
_ZONES: Final = {
    "urban": "urban",
    "rural": "rural",
    "motorway": "motorway",
    "trunk": "expressway",
    "expressway": "expressway",
    "motorroad": "expressway",
    "living_street": "living_street",
}
_OWN_ZONES: Final = {
    ("AT", "bicycle_road"): 30.0,
    ("BE", "cyclestreet"): 30.0,
    ("BE", "school"): 30.0,
    ("CZ", "pedestrian_zone"): 20.0,
    ("CZ", "urban_motorway"): 80.0,
    ("CZ", "urban_trunk"): 80.0,
    ("DE", "bicycle_road"): 30.0,
    ("GB", "nsl_dual"): 70 * MPH,
    ("GB", "nsl_restricted"): 30 * MPH,
    ("GB", "nsl_single"): 60 * MPH,
    ("JP", "express"): 100.0,
    ("JP", "national"): 60.0,
    ("JP", "nsl"): 60.0,
    ("KR", "school"): 30.0,
    ("KR", "school_zone"): 30.0,
    ("SK", "motorway_urban"): 90.0,
}


def named(code: str) -> str:
    """The country that a road's tag names."""
    return _BY_PLATE.get(code, code)


def of_zone(country: str, zone: str) -> float | None:
    """The limit of a kind of place or road, as `urban` in `KR:urban`; None: unknown."""
    own = _OWN_ZONES.get((country, zone))
    known = COUNTRIES.get(country)
    if own is not None or known is None or zone not in _ZONES:
        return own
    limit: float | None = getattr(known, _ZONES[zone])
    return limit


def of_class(country: str, road_class: str, *, motorroad: bool, built_up: bool) -> float | None:
    """The default of a road in a country; None: unknown."""
    if country not in COUNTRIES:
        return None
    zone = "urban" if built_up or road_class == "residential" else "rural"
    if road_class in ("motorway", "living_street"):
        zone = road_class
    elif motorroad:
        zone = "expressway"
    return of_zone(country, zone)
