"""Numbers, units and instants in each language."""

from zoneinfo import ZoneInfo

import pytest

from tripline.language.catalogue import Language
from tripline.portal.frame import figures

SEOUL = ZoneInfo("Asia/Seoul")
ENGLISH, KOREAN = (figures.of(language, SEOUL) for language in Language)
AT_MS = 1_760_000_000_000
"""9 October 2025, 17:53:20 in Seoul."""
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("name", "values", "english", "korean"),
    [
        ("number", (1_234_567,), "1,234,567", "1,234,567"),
        ("number", (-1_234.56, 1), "-1,234.6", "-1,234.6"),
        ("km", (12_345.67,), "12,345.7 km", "12,345.7km"),
        ("km", (0, 0), "0 km", "0km"),
        ("speed", (87.6,), "88 km/h", "88km/h"),
        ("bytes", (999,), "999 byte", "999byte"),
        ("bytes", (1_500_000,), "1.5 MB", "1.5MB"),
        ("date", (AT_MS,), "Oct 9, 2025", "2025. 10. 9."),
        ("time", (AT_MS,), "Oct 9, 2025, 17:53", "2025. 10. 9. 17:53"),
        ("exact", (AT_MS,), "Oct 9, 2025, 17:53:20 KST", "2025. 10. 9. 17:53:20 KST"),
        ("zone", (AT_MS,), "Korean Standard Time (UTC+09:00)", "대한민국 표준시 (UTC+09:00)"),
    ],
)
def test_value_is_written_as_its_reader_writes_it(name, values, english, korean):
    assert getattr(ENGLISH, name)(*values) == english
    assert getattr(KOREAN, name)(*values) == korean


@pytest.mark.parametrize(
    ("before_ms", "english", "korean"),
    [
        (0, "just now", "방금"),
        (59_999, "just now", "방금"),
        (MINUTE, "1 min ago", "1분 전"),
        (59 * MINUTE, "59 min ago", "59분 전"),
        (HOUR, "1 hr ago", "1시간 전"),
        (23 * HOUR, "23 hr ago", "23시간 전"),
        (DAY, "1 day ago", "1일 전"),
        (6 * DAY, "6 days ago", "6일 전"),
        (7 * DAY - 1, "6 days ago", "6일 전"),
        (7 * DAY, "Oct 2, 2025, 17:53", "2025. 10. 2. 17:53"),
        (-59_999, "just now", "방금"),
        (-HOUR, "in 1 hr", "1시간 후"),
        (-HOUR - 1, "in 1 hr", "1시간 후"),
        (-7 * DAY, "Oct 16, 2025, 17:53", "2025. 10. 16. 17:53"),
    ],
)
def test_span_is_told_within_a_week_before_and_after(before_ms, english, korean):
    assert ENGLISH.ago(AT_MS - before_ms, AT_MS) == english
    assert KOREAN.ago(AT_MS - before_ms, AT_MS) == korean


def test_day_is_that_of_the_services_zone():
    before_midnight_ms = 1_759_935_599_999

    assert (ENGLISH.date(before_midnight_ms), ENGLISH.date(before_midnight_ms + 1)) == ("Oct 8, 2025", "Oct 9, 2025")
    assert figures.of(Language.ENGLISH, ZoneInfo("UTC")).date(before_midnight_ms + 1) == "Oct 8, 2025"


@pytest.mark.parametrize("name", ["number", "km", "speed", "bytes", "date", "time", "exact"])
def test_nothing_is_a_dash(name):
    assert getattr(ENGLISH, name)(None) == figures.NOTHING
    assert ENGLISH.ago(None, AT_MS) == figures.NOTHING


def test_programs_read_instants_in_utc():
    assert figures.iso(AT_MS) == "2025-10-09T08:53:20Z"


def test_instants_of_one_minute_differ_by_their_seconds():
    at_ms = AT_MS - 20_000
    found = [(ENGLISH.exact(at_ms + each), figures.iso(at_ms + each)) for each in (-1, 0, 59_999, MINUTE)]

    assert found == [
        ("Oct 9, 2025, 17:52:59 KST", "2025-10-09T08:52:59Z"),
        ("Oct 9, 2025, 17:53:00 KST", "2025-10-09T08:53:00Z"),
        ("Oct 9, 2025, 17:53:59 KST", "2025-10-09T08:53:59Z"),
        ("Oct 9, 2025, 17:54:00 KST", "2025-10-09T08:54:00Z"),
    ]


def test_instant_has_the_name_that_its_zone_has_then():
    berlin = figures.of(Language.ENGLISH, ZoneInfo("Europe/Berlin"))
    ends_ms = 1_761_440_400_000

    assert berlin.exact(ends_ms - 1) == "Oct 26, 2025, 02:59:59 CEST"
    assert berlin.exact(ends_ms) == "Oct 26, 2025, 02:00:00 CET"
