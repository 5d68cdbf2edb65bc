"""Distances on the sphere, for arrays of positions in degrees (WGS84 latitude and longitude).

A step between two samples of a drive is short, so the fast form treats it as flat with the cosine of its own middle
latitude, in single precision after the subtraction; longer steps use the haversine. A trip's sum differs from the
haversine's by less than 1e-5 (`tests/unit/scoring/test_geometry.py`).
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EARTH_RADIUS_M: Final = 6_371_008.8
"""Mean radius R1 (Moritz, Geodetic Reference System 1980)."""

_FLAT_DEGREES: Final = 0.1
"""Longest flat step on either axis (11 km): its error is below (0.1 degrees in radians) squared / 24, 1.3e-7, away from
the poles."""
_HALF_RADIANS: Final = np.float32(np.pi / 360)
DEGREE_M: Final = EARTH_RADIUS_M * math.pi / 180
"""Metres in a degree of latitude."""
_METRES_PER_DEGREE: Final = np.float32(DEGREE_M)


def haversine_m(lat_0: Floats, lon_0: Floats, lat_1: Floats, lon_1: Floats) -> Floats:
    """Great-circle distance, metres, element by element.

    R. W. Sinnott, "Virtues of the Haversine", Sky and Telescope 68 (1984).
    """
    phi_0, phi_1 = np.radians(lat_0), np.radians(lat_1)
    half = np.sin((phi_1 - phi_0) / 2) ** 2
    half += np.cos(phi_0) * np.cos(phi_1) * np.sin(np.radians(lon_1 - lon_0) / 2) ** 2
    metres: Floats = 2 * EARTH_RADIUS_M * np.arcsin(np.sqrt(np.minimum(half, 1.0)))
    return metres


def steps_m(lat: Floats, lon: Floats) -> NDArray[np.float32]:
    """Distance from each position to the next, metres; one element fewer than there are positions."""
    north, east = (np.empty(max(lat.size - 1, 0), np.float32) for _ in range(2))
    np.subtract(lat[1:], lat[:-1], out=north, casting="same_kind")
    np.subtract(lon[1:], lon[:-1], out=east, casting="same_kind")
    long = np.flatnonzero(np.maximum(np.abs(north), np.abs(east)) > _FLAT_DEGREES)
    # A cosine for each step: one for a trip would be wrong on long drives north or south (docs/decisions/302).
    middle = lat.astype(np.float32)
    middle = middle[1:] + middle[:-1]
    middle *= _HALF_RADIANS
    np.cos(middle, out=middle)
    east *= middle
    np.multiply(east, east, out=east)
    np.multiply(north, north, out=north)
    north += east
    np.sqrt(north, out=north)
    north *= _METRES_PER_DEGREE
    if long.size:
        north[long] = haversine_m(lat[long], lon[long], lat[long + 1], lon[long + 1])
    return north
