"""Numbers, units and instants in the format of the reader's language; instants in the service's time zone.

The formats are those of CLDR, from Babel. A page of a list formats hundreds of values and Babel's own functions are
slow, so its patterns are parsed once and repeated values (days, spans) are cached (decision 450).
"""

import datetime as dt
import functools
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from tripline.domain import instants
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.later import Later

if TYPE_CHECKING:
    import babel
    from babel import dates, numbers, units
else:
    babel, dates, numbers, units = Later("babel"), Later("babel.dates"), Later("babel.numbers"), Later("babel.units")

NOTHING: Final = "–"
_MINUTE_S: Final = 60
_MINUTE_MS: Final = 60_000
_HOUR_S: Final = 3_600
_DAY_S: Final = 86_400
_LONGEST_AGO_S: Final = 7 * _DAY_S - 1
_SIZES: Final = ("digital-byte", "digital-kilobyte", "digital-megabyte", "digital-gigabyte")
_STEP: Final = 1_000
_HOLE: Final = "\0"
_SAMPLE: Final = 7
"""A number with the plural form in each language."""
_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001  a list writes many, and with a zone each takes twice as long


@functools.cache
def of(language: Language, zone: ZoneInfo) -> "Figures":
    """The cached formatter of a language in a time zone."""
    return Figures(language, zone)


class Figures:
    """Formats values; `None` becomes a dash in each method."""

    def __init__(self, language: Language, zone: ZoneInfo) -> None:
        self._language = language
        self._zone = zone
        self._locale: Any = babel.Locale.parse(language.value)
        self._marks = str.maketrans(
            {",": numbers.get_group_symbol(self._locale), ".": numbers.get_decimal_symbol(self._locale)}
        )
        self._glue: str = str(self._locale.datetime_formats["medium"])
        self._day = functools.lru_cache(4_096)(self._day_of)
        self._minute = functools.lru_cache(4_096)(self._minute_of)
        self._span = functools.lru_cache(4_096)(self._span_of)
        self._pattern = functools.cache(self._pattern_of)

    def number(self, value: float | None, decimals: int = 0) -> str:
        return NOTHING if value is None else f"{value:,.{decimals}f}".translate(self._marks)

    def km(self, value: float | None, decimals: int = 1) -> str:
        return self._measured(value, "length-kilometer", decimals)

    def speed(self, value: float | None, decimals: int = 0) -> str:
        return self._measured(value, "speed-kilometer-per-hour", decimals)

    def bytes(self, value: float | None) -> str:
        """A number of bytes, in the largest unit that gives at least 1."""
        if value is None:
            return NOTHING
        step = next((i for i in range(len(_SIZES) - 1) if value < _STEP ** (i + 1)), len(_SIZES) - 1)
        return self._measured(value / _STEP**step, _SIZES[step], 1 if step else 0)

    def date(self, at_ms: int | None) -> str:
        """The day of an instant, epoch ms."""
        return NOTHING if at_ms is None else self._day(self._at(at_ms).date())

    def time(self, at_ms: int | None) -> str:
        """Day and minute of an instant, epoch ms."""
        if at_ms is None:
            return NOTHING
        return self._minute(at_ms // _MINUTE_MS)[0]

    def exact(self, at_ms: int | None) -> str:
        """Day, second and zone of an instant, epoch ms."""
        if at_ms is None:
            return NOTHING
        _, before, behind = self._minute(at_ms // _MINUTE_MS)
        return f"{before}{at_ms // 1_000 % _MINUTE_S:02}{behind}"

    def clock(self, at_ms: int) -> str:
        """Time of day of an instant, epoch ms, to the second."""
        return f"{self._at(at_ms):%H:%M:%S}"

    def minute(self, at_ms: int) -> str:
        """Time of day of an instant, epoch ms, to the minute."""
        return f"{self._at(at_ms):%H:%M}"

    def zone(self, at_ms: int) -> str:
        """The time zone at an instant, epoch ms: its name and its offset from UTC."""
        at = self._at(at_ms)
        return f"{dates.get_timezone_name(at, locale=self._locale)} (UTC{at.isoformat()[-6:]})"

    def lasting(self, value_ms: int | None) -> str:
        """A duration in hours and minutes, in whole minutes."""
        if value_ms is None:
            return NOTHING
        hours, minutes = divmod(round(value_ms / _MINUTE_MS), _MINUTE_S)
        parts = [self._measured(hours, "duration-hour", 0)] if hours else []
        if minutes or not hours:
            parts.append(self._measured(minutes, "duration-minute", 0))
        return " ".join(parts)

    def ago(self, at_ms: int | None, now_ms: int) -> str:
        """The time since or until an instant; from a week on its day and minute."""
        if at_ms is None:
            return NOTHING
        away_s = abs(now_ms - at_ms) // 1_000
        if away_s > _LONGEST_AGO_S:
            return self.time(at_ms)
        if away_s < _MINUTE_S:
            return catalogue.text("portal.frame.now", self._language)
        unit_s = _MINUTE_S if away_s < _HOUR_S else _HOUR_S if away_s < _DAY_S else _DAY_S
        whole_s = away_s - away_s % unit_s
        return self._span(whole_s if at_ms > now_ms else -whole_s)

    def _at(self, at_ms: int) -> dt.datetime:
        return instants.local(at_ms, self._zone)

    def _minute_of(self, minute: int) -> tuple[str, str, str]:
        """Format a minute since 1970: day and time, and the parts of `exact` before and after the seconds. Cached,
        because most instants of a list share a few minutes. Since 1972, no time zone offset contains seconds.
        """
        at = self._at(minute * _MINUTE_MS)
        day, time = self._day(at.date()), f"{at.hour:02}:{at.minute:02}"
        before, _, behind = self._glued(day, f"{time}:{_HOLE} {at.tzname()}").partition(_HOLE)
        return self._glued(day, time), before, behind

    def _glued(self, day: str, time: str) -> str:
        return self._glue.replace("{1}", day).replace("{0}", time)

    def _measured(self, value: float | None, unit: str, decimals: int) -> str:
        if value is None:
            return NOTHING
        return self._pattern(unit).replace(_HOLE, self.number(value, decimals))

    def _pattern_of(self, unit: str) -> str:
        """The format of a unit, with a placeholder for the number."""
        return str(units.format_unit(_SAMPLE, unit, "short", locale=self._locale)).replace(str(_SAMPLE), _HOLE)

    def _day_of(self, day: dt.date) -> str:
        return str(dates.format_date(day, "medium", self._locale))

    def _span_of(self, seconds: int) -> str:
        """A relative time, negative for the past; abbreviations without their full stops."""
        span = dt.timedelta(seconds=seconds)
        text = dates.format_timedelta(span, add_direction=True, format="short", threshold=1.0, locale=self._locale)
        return str(text).replace(".", "")


def iso(at_ms: int) -> str:
    """An instant in ISO 8601, in UTC."""
    return f"{(_EPOCH + dt.timedelta(seconds=int(instants.nearest(at_ms)) // 1_000)).isoformat()}Z"
