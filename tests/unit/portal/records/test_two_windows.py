"""Two windows on one object: what a form that is older than the object is told, and which forms need not be told."""

import re
from typing import Any

from msgspec.structs import replace
from sqlalchemy import select, update
from tests.support import access_world, delegating, lines
from tests.support.access_world import Undoing, World
from tests.support.portal import Browser, Page, form_of
from tests.support.rest import Login, Rest, changed
from tests.unit.portal.admin.test_admin import applied, root
from tests.unit.portal.test_every_page import DECLARED, addressed

from tripline.domain.access import Authority
from tripline.store.tables import carrier_line

KOREAN = {"Accept-Language": "ko"}
LATE: dict[str, tuple[str, dict[str, str]]] = {
    "/delegation/take-back": ("P", {"delegation": "{V}.{R}", "confirmed": "1"}),
    "/delegation/vehicles/{vehicleId}/rights/end": ("P", {"userId": "{delegated driver of P}", "right": "DRIVER"}),
    "/fleet/companies/{companyId}/administrators/{userId}/delete": ("Q", {}),
    "/fleet/companies/{companyId}/administrators/{userId}/edit": ("Q", {"name": "N", "email": "n@x.example"}),
    "/fleet/companies/{companyId}/delete": ("operator", {}),
    "/fleet/companies/{companyId}/edit": ("operator", {"name": "N"}),
    "/fleet/directors/{directorId}/delete": ("P", {}),
    "/fleet/directors/{directorId}/edit": ("P", {"name": "N", "email": "n@x.example"}),
    "/fleet/drivers/{driverId}/delete": ("P", {}),
    "/fleet/drivers/{driverId}/edit": ("P", {"name": "N", "email": "n@x.example"}),
    "/fleet/sensors/{sensorId}/delete": ("P", {}),
    "/fleet/sensors/{sensorId}/edit": ("P", {"serialNo": "N"}),
    "/fleet/sensors/{sensorId}/mount": ("P", {"vehicleNo": "W"}),
    "/fleet/sensors/{sensorId}/unmount": ("P", {}),
    "/fleet/vehicles/{vehicleId}/delete": ("P", {}),
    "/fleet/vehicles/{vehicleId}/director": ("P", {"userId": "{director of P}"}),
    "/fleet/vehicles/{vehicleId}/director/unset": ("P", {"userId": "{director of P}"}),
    "/fleet/vehicles/{vehicleId}/driver": ("P", {"userId": "{driver of P}"}),
    "/fleet/vehicles/{vehicleId}/driver/unset": ("P", {"userId": "{driver of P}"}),
    "/fleet/vehicles/{vehicleId}/edit": ("P", {"vehicleNo": "N"}),
    "/import/{draftId}/columns": ("P", {"column-0": "mileage", "column-1": "vehicleNo"}),
    "/import/{draftId}/commit": ("P", {}),
    "/import/{draftId}/delete": ("P", {}),
    "/import/{draftId}/rows/{row}": ("P", {"cell-0": "other"}),
    "/lines/{sensorId}/unpause": ("P", {}),
    "/pushes/addresses": ("P", {"notifyHost": "https://x.example"}),
    "/pushes/secret/rotate": ("P", {}),
    "/scores/companies/{companyId}/policy": ("P", {"policy": "none"}),
    "/trips/{tripId}/driver": ("P", {"userId": "{managing director}"}),
    "/trips/{tripId}/driver/undo": ("P", {}),
}
"""Forms that carry what they were made for: who sends each one without it, and what else it says. `{}` names a thing of
`access_world`."""
ANYHOW: dict[str, tuple[str, ...]] = {
    "makes something new, or nothing": (
        "/apply",
        "/delegation/candidates",
        "/delegation/new",
        "/exports",
        "/exports/{exportId}/again",
        "/fleet/companies/{companyId}/administrators/new",
        "/fleet/companies/new",
        "/fleet/directors/new",
        "/fleet/drivers/new",
        "/fleet/sensors/new",
        "/fleet/vehicles/new",
        "/import",
        "/password",
        "/pushes/secret",
        "/pushes/test",
        "/trips/{tripId}/contest",
    ),
    "gives what nobody has taken meanwhile, else it is refused": (
        "/delegation/candidates/remove",
        "/delegation/delegate",
        "/delegation/vehicles/{vehicleId}/rights",
        "/fleet/vehicles/delegate",
    ),
    "names the state that follows, and says when it was so already": (
        "/admin/accounts/{accountId}/disable",
        "/admin/accounts/{accountId}/enable",
        "/fleet/vehicles/activate",
        "/fleet/vehicles/deactivate",
        "/fleet/vehicles/{vehicleId}/activate",
        "/fleet/vehicles/{vehicleId}/deactivate",
    ),
    "undoes one act by its time; what changed since stays and is named (test_undo_of_many.py)": (
        "/delegation/undo",
        "/fleet/vehicles/undo",
    ),
    "is decided once; the second is refused, and told by whom it was decided": (
        "/admin/applications/{applicationId}/approve",
        "/admin/applications/{applicationId}/reject",
        "/trips/{tripId}/disputes/{disputeId}",
        "/trips/{tripId}/disputes/{disputeId}/withdraw",
    ),
    "ends or repeats work under way, and loses nothing": (
        "/exports/{exportId}/cancel",
        "/import/{draftId}/cancel",
        "/import/{draftId}/check",
        "/pushes/send",
        "/shares/{linkId}/end",
    ),
    "scores trips again by the policy in force, or ends that, and changes no choice": (
        "/scores/companies/{companyId}/policy/cancel",
        "/scores/companies/{companyId}/policy/rescore",
    ),
    "adds a link, or counts that it was opened, and changes nothing else": (
        "/fleet/vehicles/{vehicleId}/share",
        "/trips/{tripId}/share",
        "/share/{linkId}/opening",
    ),
    "the account's own, asked of its owner alone": (
        "/account/password",
        "/account/preferences",
        "/account/sessions/end",
        "/account/sessions/end-all",
        "/account/sessions/end-others",
        "/account/set-password",
        "/sign-in",
        "/sign-in/link",
        "/sign-out",
    ),
    "carries the driver that it showed, or concerns the visitor alone (test_driving_pages.py)": (
        "/drive/{vehicleId}",
        "/drive/{vehicleId}/back",
    ),
    "maps are kept in files beside the store (test_map_pages.py)": (
        "/admin/maps/new",
        "/admin/maps/{area}/cancel",
        "/admin/maps/{area}/continue",
        "/admin/maps/{area}/delete",
    ),
}
"""Forms that need not, by the reason."""
OTHERS = {
    "/fleet/companies/{companyId}/administrators/{userId}/delete": {"companyId": "Q", "userId": "second admin of Q"},
    "/fleet/companies/{companyId}/administrators/{userId}/edit": {"companyId": "Q", "userId": "second admin of Q"},
    "/fleet/companies/{companyId}/delete": {"companyId": "S"},
    "/fleet/sensors/{sensorId}/mount": {"sensorId": "free"},
    "/import/{draftId}/rows/{row}": {"row": "second row"},
    "/lines/{sensorId}/unpause": {"sensorId": "with a line"},
}
"""Things in the addresses of forms, where those of `test_every_page` do not serve."""


def test_form_carries_what_it_was_made_for_or_has_a_reason_not_to() -> None:
    listed = [*LATE, *(path for paths in ANYHOW.values() for path in paths)]

    assert sorted(listed) == sorted(each.path for each in DECLARED if each.method != "GET")


async def test_form_that_says_nothing_of_what_it_was_made_for_changes_nothing(app: Rest) -> None:
    world = await access_world.settled(app)
    (row,) = await app.store.read(lambda tx: tx.all(select(carrier_line.c.sensor_id)))
    world.ids |= {"with a line": row.sensor_id, "second row": "2"}
    app.contexts = changed(app.contexts, store=Undoing(app.store))
    declared = {each.path: each for each in DECLARED if each.method != "GET"}
    answered = {}
    for path, (actor, fields) in LATE.items():
        filled = {name: re.sub(r"\{(.+?)\}", lambda found: world.ids[found[1]], each) for name, each in fields.items()}
        answer = await Browser(app, world.logins[actor]).post(_address(world, declared[path]), filled)
        answered[path] = answer.status_code

    assert answered == dict.fromkeys(LATE, 409)


def _address(world: World, declared: Any) -> str:
    others = {name: world.ids[thing] for name, thing in OTHERS.get(declared.path, {}).items()}
    path = re.sub(r"\{(\w+)\}", lambda found: others.get(found[1], found[0]), declared.path)
    return addressed(world, replace(declared, path=path))


async def test_right_that_ends_a_drive_says_so_and_is_not_taken_back_before(app: Rest) -> None:
    of = await delegating.companies(app)
    vehicle = await delegating.new_vehicle(app, of.owner)
    driver = await delegating.driver(app, of.owner, "kim")
    await delegating.give(app, of.owner, driver, vehicle, drive=True)
    browser, address = Browser(app, of.owner), f"/delegation/vehicles/{vehicle}/rights/end"
    shown = await browser.get(f"{address}?userId={driver.user_id}&right=DRIVER")
    stale = form_of(Page(shown.text), address)
    await app.post(of.owner, f"/vehicle/{vehicle}/driver/{driver.user_id}")
    refused = await browser.post(address, stale)
    held = (await app.get(of.owner, f"/driver/{driver.user_id}/relation/vehicles", limit=5))["data"]
    sent = form_of(Page(refused.text), address)
    done = await browser.post(address, sent)
    late = await browser.post(address, sent)
    shown, held, done = shown.text, len(held), done.status_code

    assert "is left without a driver" not in shown
    assert (refused.status_code, held) == (409, 1)
    assert "12가3456 is left without a driver: this person drives it now." in refused.text
    assert done == 303
    assert (late.status_code, "The driver has no such right on this vehicle." in late.text) == (404, True)
    assert 'class="chain"' in late.text, "the chain as it is"


async def test_application_that_somebody_decided_meanwhile_names_who_and_keeps_the_reason(app: Rest) -> None:
    first = Browser(app, await root(app))
    second = Browser(app, await app.account("second@x.example", Authority.SYS_ADMIN))
    path = f"/admin/applications/{await applied(app)}"
    await first.post(f"{path}/approve")
    refused = await second.post(f"{path}/reject", {"reason": "No fleet yet"})

    assert refused.status_code == 400
    assert "Decided byroot" in Page(refused.text).text
    assert "No fleet yet" in refused.text


async def test_what_another_window_did_already_is_said_and_not_undone(app: Rest, admin: Login) -> None:
    vehicle = await delegating.new_vehicle(app, admin)
    platform = Browser(app, await root(app))
    account = (await app.account("kim@x.example", Authority.COMPANY_ADMIN)).user_id
    told = []
    for browser, path in (
        (Browser(app, admin), f"/fleet/vehicles/{vehicle}/activate"),
        (Browser(app, admin), f"/fleet/vehicles/{vehicle}/deactivate"),
        (platform, f"/admin/accounts/{account}/disable"),
        (platform, f"/admin/accounts/{account}/enable"),
    ):
        await browser.post(path)
        answer = await browser.post(path)
        page = await browser.get(answer.headers["location"])
        told.append((answer.status_code, page.text.partition('id="notices"')[2].partition("<h1")[0]))

    for status, notice in told:
        assert status == 303
        assert " was already " in notice
        assert "<form" not in notice


async def test_second_of_two_who_change_the_secret_keeps_the_one_before_alive(app: Rest, admin: Login) -> None:
    browser, path = Browser(app, admin), "/pushes/secret/rotate"
    await browser.post("/pushes/secret")
    stale = form_of(Page((await browser.get("/pushes")).text), path)
    first = await browser.post(path, stale)
    refused = await browser.post(path, stale, **KOREAN)
    secret = (await app.get(admin, f"/company/{admin.company_id}/push/secret"))["secret"]
    again = await browser.post(path, form_of(Page(refused.text), path))
    stays, again = secret in first.text, again.status_code

    assert stays
    assert (refused.status_code, again) == (409, 200)
    assert "그사이 다른 사용자가 서명 키를 새로 만들었습니다." in refused.text


async def test_line_that_a_device_got_meanwhile_is_not_unpaused_unseen(app: Rest) -> None:
    scene = await lines.scene(app)
    sensor = await scene.opened()
    await scene.act("SUSPENSION", kind="USE")
    browser, path = Browser(app, scene.admin), f"/lines/{sensor}"
    stale = form_of(Page((await browser.get(path)).text), f"{path}/unpause")
    other = update(carrier_line).where(carrier_line.c.mdn == lines.MDN).values(mdn="01077777777")
    await app.store.write(lambda tx: tx.run(other))
    refused, state = await browser.post(f"{path}/unpause", stale), (await scene.sensor(sensor))["nwStatus"]

    assert (refused.status_code, state) == (409, "02")
    assert "01077777777" in refused.text
