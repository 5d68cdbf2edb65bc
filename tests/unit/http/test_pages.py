"""Requests for a list, and the answer's link."""

from typing import Any

import pytest
from litestar import Litestar
from litestar.testing import RequestFactory

from tripline.domain.refusals import BadParameter
from tripline.http import pages
from tripline.language.catalogue import sentence
from tripline.store.lists import Span, Window
from tripline.wire.rest.base import Page, TextLink, TimeLink

UUID = "1f3a5b7c-0000-11f0-8000-010000000042"
REQUESTS = RequestFactory(Litestar(logging_config=None))
"""The default application would send what every library logs to the console, for all tests of the process."""


def _time(**query: Any) -> Span:
    return pages.time_page(REQUESTS.get("/", query_params={name: str(value) for name, value in query.items()}))


def _text(**query: Any) -> Window:
    return pages.text_page(REQUESTS.get("/", query_params={name: str(value) for name, value in query.items()}))


def _refusal(**query: Any) -> str:
    with pytest.raises(BadParameter) as caught:
        _time(**query)
    return sentence(caught.value)


@pytest.mark.parametrize(
    ("limit", "taken"),
    [(1, 1), (2, 2), (999, 999), (1000, 1000), (1001, 1000), (10**12, 1000), (2**63 - 1, 1000), (10**99, 1000)],
)
def test_g34_limit_above_1000_is_cut(limit: int, taken: int) -> None:
    assert _time(limit=limit) == Span(limit=taken)


@pytest.mark.parametrize("limit", [0, -1, -1000])
def test_limit_below_1_is_refused(limit: int) -> None:
    assert _refusal(limit=limit) == "Parameter 'limit' must be at least 1."


@pytest.mark.parametrize("limit", ["x", "1.0", "1e3", " 1", "+1", "1_0", "٣", "0x10", "--1", "-", "9" * 5000])
def test_limit_that_is_no_integer_is_refused(limit: str) -> None:
    assert _refusal(limit=limit) == "Parameter 'limit' must be an integer."


def test_missing_or_empty_limit_is_refused_by_its_name() -> None:
    assert _refusal() == "Parameter 'limit' can't be empty!"
    assert _refusal(limit="") == "Parameter 'limit' can't be empty!"


@pytest.mark.parametrize(
    ("sent", "ms"),
    [
        (0, 0),
        (1_700_000_000, 1_700_000_000_000),
        (10**11 - 1, (10**11 - 1) * 1000),
        (10**11, 10**11),
        (10**11 + 1, 10**11 + 1),
        (1_700_000_000_000, 1_700_000_000_000),
        (-5, -5_000),
        (1_700_000_000.123, 1_700_000_000_123),
        (99_999_999_999.9996, 100_000_000_000_000),
        (1_700_000_000_000.4, 1_700_000_000_000),
    ],
)
def test_h11_time_below_10_to_the_11_is_seconds(sent: float, ms: int) -> None:
    page = _time(limit=1, startTime=sent, endTime=sent)

    assert (page.start_ms, page.end_ms) == (ms, ms)


@pytest.mark.parametrize("name", ["startTime", "endTime"])
@pytest.mark.parametrize("sent", ["yesterday", "1.", ".5", "1e3", "1.5.5", "٣", "2**3", "1" * 17, "-" + "1" * 17])
def test_time_that_is_none_is_refused(name: str, sent: str) -> None:
    assert name in _refusal(limit=1, **{name: sent})


@pytest.mark.parametrize(
    ("sent", "ascending"),
    [("true", True), ("TRUE", True), ("True", True), ("false", False), ("FALSE", False), ("", False)],
)
def test_asc_order_takes_any_letter_case(sent: str, ascending: bool) -> None:
    assert _time(limit=1, ascOrder=sent).ascending is ascending


def test_asc_order_that_is_neither_is_refused() -> None:
    assert _refusal(limit=1, ascOrder="1") == "Parameter 'ascOrder' must be true or false."


def test_id_offset_takes_any_letter_case_and_nothing_but_uuids() -> None:
    assert _time(limit=1, idOffset=UUID.upper()).after == UUID
    assert _refusal(limit=1, idOffset="17") == "Parameter 'idOffset' must be a UUID."


def test_unknown_query_parameters_are_ignored() -> None:
    assert _time(limit=3, page=7, sort="name") == Span(limit=3)


def test_text_page_takes_its_offset_and_search() -> None:
    page = _text(limit=5, textSearch="12가", textOffset="12가3456", idOffset=UUID)

    assert page == Window(limit=5, search="12가", text_offset="12가3456", id_offset=UUID)


def _answer(rows: int) -> Page:
    page = Span(limit=2, start_ms=5, ascending=True)
    return pages.time_answer(page, list(range(rows)), record=lambda row: row * 10, id_of=lambda row: f"id-{row}")


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_page_after_which_nothing_follows_has_no_link(rows: int) -> None:
    assert _answer(rows) == Page([10 * row for row in range(rows)], None, False)


def test_h10_page_before_others_links_to_its_last_item() -> None:
    assert _answer(3) == Page([0, 10], TimeLink(2, 5, None, True, "id-1"), True)


def test_text_page_before_others_links_to_name_and_id_of_its_last_item() -> None:
    page = Window(limit=1, search="a")

    answer = pages.text_answer(page, ["a1", "a2"], record=str.upper, name_and_id=lambda row: (row, "id-" + row))
    assert answer == Page(["A1"], TextLink(1, "a", "a\uffff", "a1", "id-a1"), True)


def test_text_page_without_search_has_no_bound() -> None:
    page = Window(limit=1)

    answer = pages.text_answer(page, ["b", "c"], record=str, name_and_id=lambda row: (row, row))
    assert answer.next_page_link == TextLink(1, None, None, "b", "b")
