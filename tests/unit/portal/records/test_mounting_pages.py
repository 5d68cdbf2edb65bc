"""Pages that mount a sensor and take it off, and the progress of an activation, which renews itself until its end."""

import re

import pytest
from tests.support import delegating, rest
from tests.support.portal import HTMX, Browser, Page, form_of
from tests.unit.services.rpc.test_activation import Box

from tripline.ports.devices import Delivery
from tripline.services.rpc import requests

KOREAN = {"Accept-Language": "ko"}


@pytest.fixture
def box():
    return Box()


@pytest.fixture
async def app(tmp_path, box):
    async with rest.opened(tmp_path, devices=box) as made:
        yield made


@pytest.fixture
async def vehicle(app, of):
    return await delegating.new_vehicle(app, of.owner)


@pytest.fixture
async def sensor(app, of, vehicle):
    """One that needs activation."""
    return await delegating.new_sensor(app, of.owner, type="OBD", activationRequired=True)


def polled(text):
    """Which address the part that renews itself asks for; None: it rests."""
    (part,) = [each for _, each in Page(text).elements if each.get("id") == "activation"]
    return part.get("hx-get")


async def test_sensor_is_mounted_by_the_number_of_the_vehicle_and_taken_off(app, of, sensor, vehicle):
    sensor = await delegating.new_sensor(app, of.owner, "T")
    browser, address = Browser(app, of.owner), f"/fleet/sensors/{sensor}"
    form = Page((await browser.get(f"{address}/mount?vehicle={vehicle}")).text)
    mounted = await browser.send(f"{address}/mount", {"vehicleNo": " 12가3456 "})
    on = (await app.get(of.owner, f"/sensor/{sensor}"))["vehicleId"]["id"]
    asked = Page((await browser.get(f"{address}/unmount")).text)
    (named,) = [each["value"] for each in asked.all("input") if each.get("name") == "vehicleId"]
    assert "Take the sensor off" in asked.text
    off = await browser.send(f"{address}/unmount", {"vehicleId": named})
    again = await browser.post(f"{address}/unmount", {"vehicleId": named}, **KOREAN)
    record = await app.get(of.owner, f"/sensor/{sensor}")

    (number,) = [each["value"] for each in form.all("input") if each.get("name") == "vehicleNo"]
    assert number == "12가3456"
    assert (mounted.status_code, on) == (303, vehicle)
    assert (off.status_code, record["status"]) == (303, "DEACTIVATED")
    assert again.status_code == 400
    assert "장착" in again.text


async def test_vehicle_without_sensor_leads_to_the_sensors_on_no_vehicle_and_to_their_forms(app, of, sensor, vehicle):
    needs_activation, sensor = sensor, await delegating.new_sensor(app, of.owner, "T")
    mounted = await app.post(of.owner, "/sensor", {"serialNo": "T2", "type": "OBD", "credentialsId": "z" * 20})
    other = await delegating.new_vehicle(app, of.owner, "99나9999")
    browser = Browser(app, of.owner)
    await browser.send(f"/fleet/sensors/{mounted['id']['id']}/mount", {"vehicleNo": "99나9999"})
    address = f"/fleet/vehicles/{vehicle}/sensor"
    record = Page((await browser.get(f"/fleet/vehicles/{vehicle}")).text)
    director = await delegating.director(app, of.owner, "jung")
    await app.post(of.owner, f"/vehicle/{vehicle}/director/{director.user_id}")
    read_only = Page((await Browser(app, director).get(f"/fleet/vehicles/{vehicle}")).text)
    asked = [Page((await browser.get(f"{address}{query}")).text) for query in ("", "?q=t", "?q=x")]
    with_one = Page((await browser.get(f"/fleet/vehicles/{other}")).text)
    sensors = [needs_activation, sensor]
    led = [address in each.hrefs for each in (record, read_only)]
    (every, begun, none) = asked

    def forms(page):
        return {each for each in page.hrefs if "/mount?" in each}

    assert led == [True, False]
    assert forms(every) == {f"/fleet/sensors/{each}/mount?vehicle={vehicle}" for each in sensors}
    assert forms(begun) == {f"/fleet/sensors/{sensors[1]}/mount?vehicle={vehicle}"}
    assert (forms(none), "No sensor to mount" in none.text) == (set(), True)
    assert not any(each.endswith("/sensor") for each in with_one.hrefs)


async def test_form_suggests_numbers_that_begin_with_what_is_typed_up_to_a_few(app, of, sensor, monkeypatch):
    for number in ("12가3457", "99나0001"):
        await delegating.new_vehicle(app, of.owner, number)
    browser, address = Browser(app, of.owner), f"/fleet/sensors/{sensor}/mount"
    headers = {**HTMX, "HX-Target": "f-vehicleNo-list"}
    parts = [(await browser.get(f"{address}?vehicleNo={typed}", **headers)).text for typed in ("12", "99", "0")]
    refused = (await browser.post(address, {"vehicleNo": "99"})).text
    monkeypatch.setattr("tripline.portal.records.mounting.SUGGESTED", 2)
    first = (await browser.get(address)).text

    def numbers(text):
        return [each["value"] for each in Page(text).all("option")]

    assert [numbers(each) for each in parts] == [["12가3456", "12가3457"], ["99나0001"], []]
    assert "<html" not in parts[0]
    assert numbers(refused) == ["99나0001"]
    assert numbers(first) == ["12가3456", "12가3457"]


@pytest.mark.parametrize(("number", "told"), [("", "Vehicle number"), ("99X", "no vehicle with this number")])
async def test_number_that_leads_nowhere_is_told_at_the_field_and_stays(app, of, sensor, number, told):
    answer = await Browser(app, of.owner).send(f"/fleet/sensors/{sensor}/mount", {"vehicleNo": number})

    assert answer.status_code == 400
    assert told in answer.text
    assert f'value="{number}"' in answer.text


async def test_activation_is_followed_without_reload_until_it_is_done(app, of, sensor, vehicle, box):
    browser = Browser(app, of.owner)
    asked = await browser.send(f"/fleet/sensors/{sensor}/mount", {"vehicleNo": "12가3456"})
    address = asked.headers["location"]
    texts = [(await browser.get(address)).text, (await browser.get(address, **HTMX)).text]
    await box.says(app, b'{"result":2000}', is_result=False)
    texts.append((await browser.get(address, **HTMX)).text)
    await box.says(app, b'{"result":2001}', is_result=True)
    texts.append((await browser.get(address, **HTMX)).text)
    texts.append((await browser.get(address, **KOREAN)).text)
    (whole, requested, acknowledged, done, korean) = texts

    assert "<html" in whole
    assert "<noscript>" in whole
    assert "<html" not in requested
    assert [polled(text) for text in (requested, acknowledged, done)] == [address, address, None]
    assert "The request was sent." in requested
    assert "The device has begun." in acknowledged
    assert "The device reported success. The sensor is on the vehicle." in done
    assert "센서를 차량에 장착했습니다." in korean


@pytest.mark.parametrize(("acknowledges", "steps"), [(False, 1), (True, 2)])
async def test_device_that_refuses_is_shown_with_its_reason_and_polling_ends(app, of, sensor, box, acknowledges, steps):
    browser = Browser(app, of.owner)
    asked = await browser.send(f"/fleet/sensors/{sensor}/mount", {"vehicleNo": "12가3456"})
    if acknowledges:
        await box.says(app, b'{"result":2000}', is_result=False)
    await box.says(app, b'{"results":4003,"additionalInfo":"<b>ignition is off</b>"}', is_result=True)
    text = (await browser.get(asked.headers["location"])).text

    assert polled(text) is None
    assert "4003" in text
    assert text.count('<li class="done"') == steps
    assert text.count('<li class="failed"') == 1
    assert "The device reported that it failed." in text
    assert "&lt;b&gt;ignition is off&lt;/b&gt;" in text


async def test_device_that_will_not_begin_fails_at_its_acknowledgement(app, of, sensor, box):
    browser = Browser(app, of.owner)
    asked = await browser.send(f"/fleet/sensors/{sensor}/mount", {"vehicleNo": "12가3456"})
    await box.says(app, b'{"result":4003}', is_result=False)
    text = (await browser.get(asked.headers["location"])).text

    assert "The device refused the request." in text
    (failed,) = re.findall(r'<li class="failed">.*?</li>', text)
    assert "Acknowledgement" in failed
    assert "failed" in failed


@pytest.mark.parametrize(("language", "told"), [("en", "device is not connected."), ("ko", "접속해 있지 않습니다")])
async def test_device_that_is_not_there_is_told_in_the_form(app, of, sensor, box, language, told):
    box.delivery = Delivery.NOT_CONNECTED
    sent = {"vehicleNo": "12가3456"}
    answer = await Browser(app, of.owner).send(f"/fleet/sensors/{sensor}/mount", sent, **{"Accept-Language": language})

    assert answer.status_code == 409
    assert told in answer.text
    assert 'value="12가3456"' in answer.text


async def test_awaited_activation_is_cancelled_on_the_page_that_takes_off(app, of, sensor):
    browser = Browser(app, of.owner)
    asked = await browser.send(f"/fleet/sensors/{sensor}/mount", {"vehicleNo": "12가3456"})
    form = (await browser.get(f"/fleet/sensors/{sensor}/mount")).text
    page = (await browser.get(f"/fleet/sensors/{sensor}/unmount")).text
    assert "<h1>Cancel the activation</h1>" in page
    assert re.search(rf'href="{asked.headers["location"]}"[^>]*>(<[^>]*>)*Keep waiting<', page)
    cancelled = await browser.send(f"/fleet/sensors/{sensor}/unmount")
    linked, text = asked.headers["location"] in form, (await browser.get(asked.headers["location"])).text

    assert linked
    assert cancelled.status_code == 303
    assert "Cancelled" in text
    assert polled(text) is None


async def test_who_has_the_vehicle_or_none_of_it_mounts_nothing(app, of, sensor, vehicle, box):
    asked = await Browser(app, of.owner).send(f"/fleet/sensors/{sensor}/mount", {"vehicleNo": "12가3456"})
    await box.says(app, b'{"result":2000}', is_result=True)
    await delegating.register(app, of.owner, of.borrower)
    await delegating.delegate(app, of.owner, of.borrower, vehicle)
    people = [of.operator, of.borrower, of.other, await delegating.director(app, of.owner, "director")]
    found = []
    for login in people:
        browser, address = Browser(app, login), f"/fleet/sensors/{sensor}"
        found.append(
            (
                (await browser.get(f"{address}/mount")).status_code,
                (await browser.post(f"{address}/mount", {"vehicleNo": "12가3456"})).status_code,
                (await browser.post(f"{address}/unmount", {"vehicleId": vehicle})).status_code,
                (await browser.get(asked.headers["location"])).status_code,
            )
        )
    still = (await app.get(of.owner, f"/sensor/{sensor}"))["vehicleId"]["id"] == vehicle

    # The operator and the delegated company read what was asked of the device, and mount nothing.
    assert found == [(403, 403, 403, 200), (403, 403, 403, 200), (403, 403, 403, 403), (403, 403, 403, 403)]
    assert still


async def test_calls_of_a_sensor_are_listed_with_their_state(app, of, sensor, box):
    browser = Browser(app, of.owner)
    empty = (await browser.get(f"/fleet/sensors/{sensor}/calls")).text
    before = Page((await browser.get(f"/fleet/sensors/{sensor}")).text)
    asked = await browser.send(f"/fleet/sensors/{sensor}/mount", {"vehicleNo": "12가3456"})
    await box.says(app, b'{"result":2000}', is_result=False)
    after = Page((await browser.get(f"/fleet/sensors/{sensor}")).text)
    led = [f"/fleet/sensors/{sensor}/calls" in each.hrefs for each in (before, after)]
    address, page = asked.headers["location"], Page((await browser.get(f"/fleet/sensors/{sensor}/calls")).text)

    assert "This device has not been called yet" in empty
    assert led == [False, True]
    assert address in page.hrefs
    assert page.text.count("Acknowledged") == 2, "the column and the state"


@pytest.mark.parametrize(("language", "term"), [("en", "Activation"), ("ko", "활성화")])
async def test_activation_is_listed_by_its_term_and_calls_of_applications_by_name(app, of, sensor, box, language, term):
    browser = Browser(app, of.owner)
    await browser.send(f"/fleet/sensors/{sensor}/mount", {"vehicleNo": "12가3456"})
    box.delivery = Delivery.NOT_CONNECTED
    await app.call(of.owner, "POST", f"/api/plugins/rpc/twoway/{sensor}", {"method": "reset"})

    for below in ("", "/calls"):
        text = (await browser.get(f"/fleet/sensors/{sensor}{below}", **{"Accept-Language": language})).text
        rows = [Page(row).text for row in re.findall(r'<tr data-row><th scope="row">(.*?)</th>', text)]
        assert rows == ["reset", f"{term} activationReq"]


async def test_window_that_would_supersede_an_activation_it_did_not_show_is_told_of_it(app, of, sensor, box):
    await delegating.new_vehicle(app, of.owner, "34나5678")
    browser, address = Browser(app, of.owner), f"/fleet/sensors/{sensor}/mount"
    stale = form_of(Page((await browser.get(address)).text), address)
    first = await browser.send(address, {"vehicleNo": "12가3456"})
    refused = await browser.post(address, {**stale, "vehicleNo": "34나5678"})
    asked = len(box.asked)
    sent = form_of(Page(refused.text), address)
    again = await browser.post(address, sent)
    kept, asked_again = sent["vehicleNo"], len(box.asked)

    assert first.status_code == 303
    assert (refused.status_code, asked, kept) == (409, 1, "34나5678")
    assert "The sensor changed in the meantime; nothing was mounted." in refused.text
    assert first.headers["location"] in refused.text, "the activation that is awaited"
    assert (again.status_code, asked_again) == (303, 2)


async def test_page_that_takes_a_sensor_off_counts_what_ends_and_what_goes_on(app, of, sensor, vehicle):
    sensor = await delegating.new_sensor(app, of.owner, "T")
    browser, address = Browser(app, of.owner), f"/fleet/sensors/{sensor}/unmount"
    await browser.send(f"/fleet/sensors/{sensor}/mount", {"vehicleNo": "12가3456"})
    nothing = await browser.get(address)
    stale = form_of(Page(nothing.text), address)
    asks = {"sensor_id": sensor, "user_id": of.owner.user_id, "method": "reset", "params": b"{}", "ack_ms": 20_000}
    await app.store.write(lambda tx: requests.insert(tx, **asks, ids=app.ids, now_ms=app.now_ms))
    refused = await browser.post(address, stale, **KOREAN)
    on = (await app.get(of.owner, f"/sensor/{sensor}"))["vehicleId"]["id"]
    done = await browser.post(address, form_of(Page(refused.text), address))
    stays = on == vehicle

    assert "Its open trip" not in nothing.text
    assert "under way" not in nothing.text
    assert refused.status_code == 409
    assert "그사이 함께 끝나는 내용이 바뀌어" in refused.text
    assert "진행 중인 원격 제어 요청 1건은 계속되며" in refused.text
    assert stays
    assert done.status_code == 303


async def test_activation_that_another_window_asked_for_is_not_cancelled_unseen(app, of, sensor):
    await delegating.new_vehicle(app, of.owner, "34나5678")
    browser, path = Browser(app, of.owner), f"/fleet/sensors/{sensor}"
    await browser.send(f"{path}/mount", {"vehicleNo": "12가3456"})
    page = (await browser.get(f"{path}/unmount")).text
    await browser.send(f"{path}/mount", {"vehicleNo": "34나5678"})
    refused = await browser.post(f"{path}/unmount", form_of(Page(page), f"{path}/unmount"))
    waits = (await browser.get(f"{path}/mount")).text
    done = await browser.post(f"{path}/unmount", form_of(Page(refused.text), f"{path}/unmount"))

    assert "The activation is for 12가3456." in page
    assert refused.status_code == 409
    assert "The activation is for 34나5678." in refused.text
    assert "An activation of this sensor is under way" in waits
    assert done.status_code == 303


async def test_page_that_deletes_a_sensor_counts_the_calls_that_are_cancelled(app, of, sensor):
    sensor = await delegating.new_sensor(app, of.owner, "T")
    browser, address = Browser(app, of.owner), f"/fleet/sensors/{sensor}/delete"
    before = (await browser.get(address)).text
    asks = {"sensor_id": sensor, "user_id": of.owner.user_id, "method": "reset", "params": b"{}", "ack_ms": 20_000}
    await app.store.write(lambda tx: requests.insert(tx, **asks, ids=app.ids, now_ms=app.now_ms))
    refused = await browser.post(address, form_of(Page(before), address))
    done = await browser.post(address, form_of(Page(refused.text), address))

    assert "under way" not in before
    assert (refused.status_code, done.status_code) == (409, 303)
    assert "1 call in progress is cancelled." in refused.text
