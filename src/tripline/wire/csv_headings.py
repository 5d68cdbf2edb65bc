"""Headings of the columns of a file: our own names, and what people call them in English and Korean.

Headings are compared without letter case, blanks and marks: `Vehicle No.` is `vehicleNo`, `차량 번호` is `차량번호`.

Not here: what stands below them (`csv_registrations.py`).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

_REMARK: Final = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
"""A unit or remark in parentheses or brackets."""
_BETWEEN_WORDS: Final = re.compile(r"[\W_]+")
"""Blanks and marks."""

HEADINGS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "vehicles": {
        "vehicleNo": (
            "Vehicle number",
            "차량번호",
            "number plate",
            "plate",
            "license plate",
            "registration number",
            "등록번호",
            "번호판",
            "차번호",
        ),
        "vendor": ("Maker", "제조사", "manufacturer", "make", "brand", "메이커", "제작사"),
        "modelCode": ("Model code", "모델코드", "차종코드", "형식"),
        "modelName": ("Model", "모델명", "모델", "차명", "차종명"),
        "modelYear": ("Model year", "연식", "year", "년식", "제작연도", "모델연도"),
        "missionType": ("Transmission", "변속기", "gearbox", "변속기종류", "미션"),
        "fuelType": ("Fuel", "연료", "연료종류", "유종"),
        "mileage": ("Mileage (km)", "누적 주행거리(km)", "주행거리(km)", "odometer", "total distance", "총주행거리"),
        "category": ("Category", "차종", "vehicle type", "차량종류", "분류"),
        "usage": ("Use", "용도", "purpose", "차량용도"),
        "displacement": ("Displacement (cc)", "배기량(cc)", "engine size", "cc"),
        "additionalInfo": ("Remarks", "비고", "notes", "additional information", "memo", "메모", "추가정보"),
    },
    "sensors": {
        "serialNo": ("Serial number", "일련번호", "serial", "device number", "시리얼번호", "단말번호", "단말기번호"),
        "credentialsId": (
            "Access token",
            "접속토큰",
            "token",
            "credential",
            "credentials",
            "인증토큰",
            "토큰",
            "인증키",
        ),
        "vendor": ("Maker", "제조사", "manufacturer", "make", "brand", "메이커", "제작사"),
        "type": ("Type", "종류", "device type", "sensor type", "센서종류", "단말기종류", "단말종류", "유형"),
        "activationRequired": ("Activation required", "활성화필요", "needs activation", "활성화필요여부"),
        "missionType": ("Transmission", "변속기", "gearbox", "변속기종류", "미션"),
        "additionalInfo": ("Remarks", "비고", "notes", "additional information", "memo", "메모", "추가정보"),
    },
}
"""For each kind of file and each column what it is called beside its own name, first in English, then in Korean."""


def shown(kind: str, column: str, language: str) -> str:
    """What the column is called in English (`en`) or Korean (`ko`)."""
    return HEADINGS[kind][column][1 if language == "ko" else 0]


def column_of(kind: str, heading: str) -> str | None:
    """The column of this kind of file that a heading names, if any."""
    return _known(kind).get(_plain(heading))


def matched(kind: str, header: Sequence[str]) -> tuple[str | None, ...]:
    """The column that each heading names; of two that name the same one, the first."""
    columns = [column_of(kind, heading) for heading in header]
    return tuple(
        column if column is not None and column not in columns[:at] else None for at, column in enumerate(columns)
    )


def _known(kind: str) -> dict[str, str]:
    return _KNOWN[kind]


def _plain(heading: str) -> str:
    folded = heading.casefold()
    return _BETWEEN_WORDS.sub("", _REMARK.sub("", folded)) or _BETWEEN_WORDS.sub("", folded)


_KNOWN: Final = {
    kind: {_plain(name): column for column, names in columns.items() for name in (column, *names)}
    for kind, columns in HEADINGS.items()
}
