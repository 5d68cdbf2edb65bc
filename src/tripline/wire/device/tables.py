"""The documented keys of every message type, with the kind of value each one holds; device types; OBD and DTG marks.

Source: spec/device-messages 5 (trips and microtrips), 6 (events), 3.4 (K4, K6); device type names: spec/bus-messages
3.2. An unlisted key is stored as sent (V5).
"""

import functools
from typing import Final

GPS: Final = "GPS"
OBD: Final = "OBD"
ADAS: Final = "ADAS"
BLACKBOX: Final = "BLACKBOX"
DTAG: Final = "DTAG"
DTG: Final = "DTG"
AVN: Final = "AVN"

_TYPE_NAMES: Final = {
    "GPS": GPS, "OBD": OBD, "OBD2": OBD, "OBDII": OBD, "ADAS": ADAS, "BLACKBOX": BLACKBOX, "BBX": BLACKBOX,
    "DTAG": DTAG, "DTG": DTG, "AVN": AVN,
}  # fmt: skip
_DROPPED: Final = str.maketrans("", "", "-_ ")

TRIPS: Final = frozenset({1, 3, 5, 7, 9, 11})
MICROTRIPS: Final = frozenset({2, 4, 6, 8, 10, 12})
TRIP_OF: Final = {GPS: 1, OBD: 3, ADAS: 5, BLACKBOX: 7, DTAG: 9, DTG: 9, AVN: 11}
"""Device type -> number of its trip message; its microtrip is the next number."""
DEVICE_OF: Final = {
    1: GPS, 2: GPS, 3: OBD, 4: OBD, 5: ADAS, 6: ADAS, 7: BLACKBOX, 8: BLACKBOX, 9: DTAG, 10: DTAG, 11: AVN, 12: AVN,
    **dict.fromkeys(range(101, 107), OBD), 107: ADAS, **dict.fromkeys(range(108, 113), BLACKBOX),
    **dict.fromkeys(range(113, 117), DTAG),
}  # fmt: skip
"""Message number -> the device type that its table belongs to."""

ATTRIBUTE_EVENTS: Final = frozenset({104, 105, 106})
"""Events of class Attributes: they also update the sensor's latest values (6.18)."""

MARKS: Final = {
    OBD: {"rpm", "em", "el", "vv", "tpos", "fc", "cdit", "cdlt", "xyz", "ctp", "coe", "fct", "idt", "btv", "gnv",
          "wut"},
    DTG: {"dmid", "vcat", "vrid", "vbid", "did", "dtr", "dctr", "bsg", "gan", "acx", "acy", "tploc", "door"},
}  # fmt: skip
"""Device type -> keys that mark its payloads under the numbers of the type below (K4, K6)."""
MARKED: Final = {GPS: OBD, DTAG: DTG}
"""Device type -> the type that may send under its numbers."""
MOVING: Final = {"lat", "lon", "stt", "edt", "stlat", "stlon"}
"""A payload with one of these under a small number is not an event (K2)."""

NUMERIC: Final = True
TEXT: Final = False
Table = dict[str, bool]
"""Documented key -> NUMERIC or TEXT. `em` is in none: it is returned as sent (V6)."""


def _table(numeric: str, text: str = "") -> Table:
    keys = numeric.replace("*", "").split(), text.replace("*", "").split()
    return dict.fromkeys(keys[0], NUMERIC) | dict.fromkeys(keys[1], TEXT)


_ENDS = "stlat stlon edlat edlon"
_ENDS_ASKED = "stlat* stlon* edlat* edlon*"
_SETTINGS_A = (
    "fqual fsharp fntbr fnv fmode rqual rntbr rprec dcs pcs fms rms spk mic cutps cutpl parke cuv cutm loff lbr boot"
    " menu led pet cutt ldws ldsl ldsr ldwb fcws fcwb fvsa fvs fvwb tlds"
)
_SETTINGS_B = "sac saac vcc aspvc marc drmc prmc laoc"
_SETTINGS_C = "datc mff crst sdupt"
_ASKED_OF_OBD = "ctp* coe* fct* hsts* mesp* idt* btv* gnv* wut*"
_DOCUMENTED: Final = {  # microtrip keys in the order in which devices send them
    1: (f"tid* stt* edt* dis {_ENDS} hsts mesp dtvt", "fwv"),
    2: ("tid* lat* lon* alt* sp dop nos clt* tdis",),
    3: (f"tid* stt* edt* dis* tdis* fc* {_ENDS_ASKED} {_ASKED_OF_OBD} est dtvt", "usm fwv"),
    4: ("tid* lat* lon* clt* sp rpm el vv tpos fc lc cdit cdlt", "xyz"),
    5: ("tid* lat* lon* dop nos",),
    6: ("tid* clt* lat* lon* dop nos dir* sp* ldw* rld lld fcw* hdw brk chcmr* chdir* chbrk*",),
    7: (f"tid* clt* {_ENDS_ASKED} dis* try* vlt* lat lon",),
    8: ("tid* lat lon try* sp rssi clt* vlt tem tim",),
    9: ("tid* lat* lon* vcat", "dmid vin vrid vbid did"),
    10: ("tid* clt* lat* lon* dtr dctr sp rpm bsg gan gag tmp door", "acx acy tploc"),
    11: (f"tid* clt* {_ENDS_ASKED} odo*",),
    12: ("tid* clt* lat* lon* sp bsg sas gr rgr tmp odo",),
    101: ("tid dtck* dtcs*", "dtcc*"),
    102: ("tid tripId dclat* dclon* dCWlat dCWlon",),
    103: ("tid plat* plon* pclat pclon",),
    104: ("tid wbv*",),
    105: ("tid unpt* pt*",),
    106: ("tid", "rs*"),
    107: ("tid lat lon dop nos dir* sp* ldw* fcw*",),
    108: (f"auth* {_SETTINGS_A} {_SETTINGS_B}", "fwv* bfwv* bnm* mfwv* sfwv*"),
    109: ("mod* lat lon tim psc pmc cam",),
    110: (f"{_SETTINGS_A} {_SETTINGS_B} {_SETTINGS_C}",),
    111: ("kind* lat lon tm", "url*"),
    112: ("wid* lat lon tim ldws fcws",),
    113: ("tid* lat lon clt*",),
    114: ("tid* lat lon clt* gvl*",),
    115: ("tid* lat lon clt* cht*",),
    116: ("tid* lat lon clt* ctime*",),
}
"""Message number -> numeric keys and texts. The interface requires those with a star."""
TABLES: Final[dict[int, Table]] = {number: _table(*keys) for number, keys in _DOCUMENTED.items()}
MANDATORY: Final = {
    number: frozenset(key[:-1] for key in " ".join(keys).split() if key.endswith("*"))
    for number, keys in _DOCUMENTED.items()
}
"""Message number -> keys that the interface requires from a device. Tripline also accepts the message without them."""
AVN_EVENT: Final = _table("wid lat lon wip tim")
"""114 in edition 2018 (K5)."""
UNKNOWN: Final = _table("")


def device_type(registered: str) -> str:
    """The device type of a registered sensor type or of a message's `deviceType`; an unknown name as it is."""
    return _TYPE_NAMES.get(registered.upper().translate(_DROPPED), registered)


def documented(ty: int, device: str) -> int:
    """The number that is documented for such a message: by device type for trips and microtrips (K4)."""
    if ty in TRIPS:
        return TRIP_OF.get(device, ty)
    return TRIP_OF.get(device, ty - 1) + 1 if ty in MICROTRIPS else ty


def table_of(ty: int, device: str) -> Table:
    """The documented keys of a stored record."""
    return AVN_EVENT if ty == 114 and device == AVN else TABLES.get(documented(ty, device), UNKNOWN)


@functools.lru_cache(maxsize=256)
def kinds_of(ty: int, device: str) -> Table:
    """The kinds of the keys that a stored record may hold; `device` is its trip's device type.

    A trip has the type of the samples that opened it, and its other messages may belong to another table: so the number
    sent counts too, and under 1 and 2 every OBD key (K4). Every key has the same kind in all tables.
    """
    if ty not in TRIPS and ty not in MICROTRIPS:
        return table_of(ty, device)
    obd = table_of(ty, OBD) if DEVICE_OF[ty] == GPS else UNKNOWN
    return obd | TABLES[ty] | table_of(ty, device)
