"""Correcting the driver of a past trip in the portal: preview, correction, undo, two windows, and a dispute."""

from typing import Any

import pytest
from tests.support import rest
from tests.support.portal import Browser, Page, form_of
from tests.unit.api import test_trip_drivers as trips

KOREAN = {"Accept-Language": "ko"}


@pytest.fixture
async def own(app: rest.Rest) -> Any:
    """What `trips.cast` makes."""
    return await trips.cast(app)  # type: ignore[no-untyped-call]


@pytest.fixture
def browser(app: rest.Rest, own: Any) -> Browser:
    return Browser(app, own.admin)


async def driver_of(own: Any) -> str:
    return str((await own.app.get(own.admin, f"/trip/{own.trip_id}"))["userId"]["id"])


def links(page: Page) -> set[str | None]:
    return {attributes.get("href") for _, attributes in page.elements}


async def test_manager_sees_the_change_makes_it_and_undoes_it(own, browser):
    path = f"/trips/{own.trip_id}/driver"
    first = Page((await browser.get(path)).text)
    preview = Page((await browser.get(f"{path}?chosen={own.colleague.user_id}")).text)
    korean = Page((await browser.get(f"{path}?chosen={own.colleague.user_id}", **KOREAN)).text)
    done = await browser.post(path, form_of(preview, path, userId=own.colleague.user_id))
    corrected = await driver_of(own)
    after = Page((await browser.get(path)).text)
    history = Page((await browser.get(f"/fleet/vehicles/{own.vehicle_id}/history")).text)
    undone = await browser.post(f"{path}/undo", form_of(after, f"{path}/undo"))
    restored = await driver_of(own)

    assert f"{path}?role=DRIVER&chosen={own.colleague.user_id}" in links(first)
    assert "2 trips, 20.0 km, score" in preview.text
    assert "1 trip, 10.0 km, score" in preview.text
    assert "No scored trips" in preview.text
    assert "운행 2건, 20.0km" in korean.text
    assert (done.status_code, done.headers["location"], corrected) == (303, path, own.colleague.user_id)
    assert "Driver as recorded" in after.text
    assert path in links(history)
    assert own.trip_id not in history.text
    assert (undone.status_code, restored) == (303, own.driver.user_id)


@pytest.mark.parametrize("first", ["correct", "undo"])
async def test_second_of_two_windows_sees_the_new_driver_and_keeps_its_choice(own, browser, first):
    path = f"/trips/{own.trip_id}/driver"
    second = Page((await browser.get(f"{path}?chosen={own.director.user_id}&role=DIRECTOR")).text)
    page = Page((await browser.get(f"{path}?chosen={own.colleague.user_id}")).text)
    await browser.post(path, form_of(page, path, userId=own.colleague.user_id))
    if first == "undo":
        second = Page((await browser.get(path)).text)
        await own.app.call(own.admin, "DELETE", trips.of_driver(own))  # type: ignore[no-untyped-call]
        refused = await browser.post(f"{path}/undo", form_of(second, f"{path}/undo"))
    else:
        refused = await browser.post(path, form_of(second, path))

    assert refused.status_code == 409
    assert "Another person has changed the driver" in refused.text
    assert await driver_of(own) == (own.driver if first == "undo" else own.colleague).user_id


async def test_dispute_is_accepted_with_the_chosen_driver(own, browser):
    opened = await own.app.post(own.driver, own.of_trip, {"reason": "NOT_DRIVER", "text": "Not I."})
    path, dispute_id = f"/trips/{own.trip_id}/driver", opened["id"]["id"]
    query = f"?chosen={own.colleague.user_id}&disputeId={dispute_id}"
    page = Page((await browser.get(path + query)).text)
    elsewhere = f"/trips/{own.first_id}/driver"
    sent = form_of(page, path, userId=own.colleague.user_id)
    wrong = await browser.post(elsewhere, sent)
    done = await browser.post(path, sent)
    kept = await own.app.get(own.driver, f"/api/tre/v1_3/dispute/{dispute_id}")
    trip = Page((await browser.get(f"/trips/{own.trip_id}")).text)
    is_driver = await driver_of(own) == own.colleague.user_id

    assert "accepted; the trip has another driver" in trip.text
    assert any((href or "").endswith("/driver") for href in links(trip))
    assert "Accept the dispute with this driver" in page.text
    assert (wrong.status_code, done.status_code, kept["state"], is_driver) == (404, 303, "CORRECTED", True)
