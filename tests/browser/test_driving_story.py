"""A day of driving in a real browser: an operator's map, a driver's trips, a dispute, a corrected driver, a share link.

By hand or by keyboard alone, in Korean or English: each run draws both. Devices drive by `tripline replay` over MQTTS;
people type the server's address and no other, and follow links.
"""

import contextlib
import csv
import subprocess
import time

import pytest
from playwright.sync_api import expect
from tests.support import fleet, map_files, portal_browser, portal_hands, servers
from tests.support.fleet import Company
from tests.support.portal_hands import window

from tripline.domain.share_links import LinkGone
from tripline.maintenance import maps

pytestmark = [
    pytest.mark.deep,
    pytest.mark.once("what pages show and their scripts do"),
    pytest.mark.slow,
    pytest.mark.timeout(600),
]

OPERATOR, PARTNER = "admin@test-fleet.example", "pat@partner.example"
KIM, LEE = "김민서", "이도윤"
SPEEDS = [
    *([0.0] * 4 + [6.0, 12, 18, 24, 30, 36]),
    *([40.0] * 30 + [52.0, 64]),  # a sudden acceleration
    *([64.0] * 60 + [48.0, 32]),  # a sudden deceleration
    *([38.0, 44] + [50.0] * 60),
    *([56.0, 62, 68, 74, 80, 86] + [90.0] * 25 + [84.0, 78, 72, 66, 60]),  # over the limit
    *([54.0] * 30 + [46.0, 38, 30, 22, 14, 6] + [0.0] * 5),
]
"""Speeds of each second, km/h; about 3.7 km."""
CALM = [*range(0, 48, 6), *[48.0] * 240, *range(48, -1, -6)]
"""The same for 3.4 km without an event."""
PACE = 10
"""Times real time at which a drive is watched: 24 s, and short enough that positions count as new."""
STREET_KMH = 70
METRES_PER_DEGREE = 111_195
START_LAT, LON = 47.0 + 300 / METRES_PER_DEGREE, 9.5
DRIVE_S = 60
PATIENCE_MS = 30_000
GONE_S = 3.0


class World:
    """A server with a map, an operator with three vehicles, two of them with a driver, the third delegated."""

    def __init__(self, server, company, folder):
        self.server, self.folder = server, folder
        self.first, self.second, self.lent = (company.vehicle_with_sensor(number) for number in (1, 2, 3))
        for name, vehicle, email in ((KIM, self.first, "kim"), (LEE, self.second, "lee")):
            body = {"name": name, "email": f"{email}@people.example", "password": fleet.PASSWORD}
            person = company.post("/api/tre/v1/driver", body)["id"]["id"]
            for each in (self.first, self.second):
                company.post(f"/api/tre/v1/driver/{person}/relation/vehicle", {"vehicleId": {"id": each.vehicle_id}})
            company.post(f"/api/tre/v1/vehicle/{vehicle.vehicle_id}/driver/{person}")
        contact = {"picName": "Pat", "picEmail": PARTNER, "picPasswd": fleet.PASSWORD}
        body = {"name": "Partner", "serviceType": "test-fleet", **contact}
        partner = company.post("/api/tre/v1/company", body)["id"]
        own = company.record["id"]["id"]
        company.post(f"/api/tre/v1/company/{own}/relation/company", {"toCompanyId": partner})
        lent = {"vehicleId": {"id": self.lent.vehicle_id}}
        company.post(f"/api/tre/v1/company/{partner['id']}/relation/vehicle", lent)

    @contextlib.contextmanager
    def drive(self, vehicle, *, end_ms, speeds=SPEEDS, pace=PACE, east_from=None):
        """Have `tripline replay` drive the vehicle north meanwhile, from some second on to the east."""
        file = self.folder / f"{vehicle.vehicle_no}.csv"
        write_drive(file, speeds, end_ms, east_from)
        where = ("--host", self.server.device_host, "--port", str(self.server.device_port))
        command = servers.command("replay", *where, "--ca", str(self.server.ca), str(file), "--speed", str(pace))
        environment = servers.environment({"TRIPLINE_DEVICE_TOKEN": vehicle.token})
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield process
                printed, _ = process.communicate(timeout=DRIVE_S)
                assert process.returncode == 0, printed
            finally:
                process.kill()

    def driven(self, vehicle, speeds, *, minutes_ago):
        """A drive that is over."""
        with self.drive(vehicle, speeds=speeds, end_ms=now_ms() - minutes_ago * 60_000, pace=0):
            pass


def now_ms():
    return int(time.time() * 1000)


def write_drive(file, speeds, end_ms, east_from):
    lat, lon = START_LAT, LON
    with file.open("w", newline="") as opened:
        rows = csv.writer(opened)
        rows.writerow(("t_ms", "lat", "lon", "speed_kmh"))
        for second, speed in enumerate(speeds):
            if east_from is None or second < east_from:
                lat += speed / 3.6 / METRES_PER_DEGREE
            else:
                lon += speed / 3.6 / METRES_PER_DEGREE / 0.682  # the cosine of the latitude
            rows.writerow((end_ms - 1_000 * (len(speeds) - 1 - second), f"{lat:.6f}", f"{lon:.6f}", speed))


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A fresh installation with a map, and who tells the story on it."""
    folder = tmp_path_factory.mktemp("driving")
    file = map_files.street(folder / "street.osm.pbf", maxspeed=str(STREET_KMH))
    maps.imported(folder / "maps", file, name="street", country="", progress=lambda _count: None)
    with (
        servers.serving(folder / "data", variables={"TRIPLINE_MAP_DIR": str(folder / "maps")}) as server,
        Company(server.api, folder / "data") as company,
    ):
        yield World(server, company, folder), *portal_hands.drawn()


def test_drive_is_watched_judged_contested_corrected_and_shared(told, tmp_path):
    world, language, kind = told
    world.driven(world.first, SPEEDS, minutes_ago=40)
    world.driven(world.second, CALM, minutes_ago=30)
    with portal_browser.browsing() as browser:

        def opened():
            return window(browser, world.server.api, language, kind, tmp_path)

        with opened() as screen, opened() as office, opened() as cab:
            for hand, email in ((screen, OPERATOR), (office, OPERATOR), (cab, "kim@people.example")):
                hand.open()
                hand.sign_in(email)
            watch_the_map(screen, world.first, world.second)
            with world.drive(world.first, end_ms=now_ms() + 1_000 * len(SPEEDS) // PACE):
                open_trip_under_way(office, world.first)
            vehicle_was_seen_to_drive(screen, world.second)
            score_appears(office)
            look_at_events(office)
            contest_the_deceleration(cab)
            accept(office, world.first)
            totals = [totals_of(office, name) for name in (KIM, LEE)]
            contest_as_another_driver(cab)
            correct_the_driver(office)
            moved = [totals_of(office, name) for name in (KIM, LEE)]
            assert [trips for trips, _ in totals] == ["2", "1"]
            assert [trips for trips, _ in moved] == ["1", "2"]
            assert [before != after for (_, before), (_, after) in zip(totals, moved, strict=True)] == [True, True]
            with opened() as partner, opened() as guest:
                share(partner, guest, world)
                taken_ms, gone_ms = take_back(office, guest, world)
            assert 0 <= gone_ms - taken_ms <= GONE_S * 1_000


def row_of(hand, vehicle):
    return hand.page.locator(".live-list li", has_text=vehicle.vehicle_no)


def open_trip_under_way(hand, vehicle):
    """Open the newest trip of the list once the vehicle drives."""
    expect(row_of(hand, vehicle)).to_contain_text(hand.say("portal.live.driving"), timeout=PATIENCE_MS)
    open_trip(hand, 0)
    hand.sees("portal.trip.open.text")


def watch_the_map(hand, driving, parked):
    """Pick a vehicle on the map; from now on the window notes what its card says."""
    hand.page.wait_for_selector("[data-map][data-state=drawn]", timeout=PATIENCE_MS)
    hand.use(row_of(hand, driving).get_by_role("button"))
    hand.page.wait_for_selector("[data-card=state]")
    hand.page.evaluate(
        """(parts) => {
            window.seen = Object.fromEntries(parts.map((part) => [part, []]));
            const note = () => parts.forEach((part) => {
                const text = document.querySelector(`[data-card=${part}]`)?.innerText;
                if (text && window.seen[part].at(-1) !== text) window.seen[part].push(text);
            });
            note();
            new MutationObserver(note).observe(document.body, { childList: true, characterData: true, subtree: true });
        }""",
        ["state", "speed", "age"],
    )
    assert hand.say("portal.live.parked") in row_of(hand, parked).inner_text()


def vehicle_was_seen_to_drive(hand, still):
    """Speed, age and place changed, and the state at both ends of the drive; nothing of the other vehicle did."""
    expect(hand.page.locator("[data-card=state]")).to_have_text(hand.say("portal.live.stopped"), timeout=PATIENCE_MS)
    seen = hand.page.evaluate("window.seen")
    places = {text.split(" ", 1)[-1].rpartition("47.")[2] for text in seen["age"]}
    parked, stopped, driving = (hand.say(f"portal.live.{each}") for each in ("parked", "stopped", "driving"))
    # The first reports have speed 0; a window that is late shows them together with the next ones.
    assert seen["state"] in ([parked, stopped, driving, stopped], [parked, driving, stopped])
    assert min(len(set(seen["speed"])), len(places)) >= 5, seen
    assert parked in row_of(hand, still).inner_text()


def reloaded(hand):
    """Follow the offer to show the page's new state."""
    hand.sees("portal.trip.changed_meanwhile")
    with hand.page.expect_navigation():
        hand.follow(hand.say("portal.trip.reload"))


def score_appears(hand):
    """The page that was open while the trip ended offers to reload until it has the score."""
    until = time.monotonic() + DRIVE_S
    while not hand.page.locator(".trip-number").count():
        assert time.monotonic() < until
        reloaded(hand)


def look_at_events(hand):
    """Events in the table, the replay moves, and it jumps to an event."""
    table = hand.page.locator("#cost-rows")
    for shape in ("acceleration", "deceleration", "overspeed"):
        expect(table).to_contain_text(hand.say(f"portal.trip.event.{shape}"))
    expect(table).to_contain_text("High Street")
    at = hand.page.locator("[data-part=at]")
    at.wait_for()  # shown once the track is there
    was = at.inner_text()
    hand.use(hand.page.locator("[data-do=play]"))
    expect(at).not_to_have_text(was)
    hand.use(hand.page.locator("[data-do=play]"))
    hand.use(hand.page.locator("[data-do=next-event]"))
    expect(at).to_contain_text(hand.say("portal.trip.event.acceleration"))
    hand.use(hand.page.locator("[data-do=next-event]"))
    expect(at).to_contain_text(hand.say("portal.trip.event.deceleration"))


def open_trip(hand, place):
    """Open the newest (0) or an older trip of the list."""
    hand.turn_to("/trips")
    hand.use(hand.page.locator("table#trips tbody th a").nth(place))
    hand.page.wait_for_url("**/trips/*-*")


def contest_the_deceleration(hand):
    open_trip(hand, 0)
    event = hand.say("portal.trip.event.deceleration")
    hand.follow(f"{hand.say('portal.trip.contest.event')}: {event}")
    hand.page.wait_for_url("**/contest?event=*")
    contest(hand, "TRAFFIC", "A child ran into the road.")


def contest_as_another_driver(hand):
    open_trip(hand, 1)
    hand.follow(hand.say("portal.trip.contest.trip"))
    hand.page.wait_for_url("**/contest")
    contest(hand, "NOT_DRIVER", "My colleague drove.")


def contest(hand, reason, text):
    hand.choose(hand.page.locator("select[name=reason]"), hand.say(f"portal.trip.reason.{reason}"))
    hand.fill(text=text)
    hand.press("portal.trip.contest.submit")
    assert hand.done() == hand.say("portal.trip.contest.sent")


def accept(hand, vehicle):
    """Accept what the driver contested; the page says the score before and after once it is there."""
    hand.turn_to("/scores")
    hand.follow(vehicle.vehicle_no)
    hand.page.wait_for_url("**/trips/*-*")
    hand.follow(hand.say("portal.trip.decide"))
    hand.page.wait_for_url("**/disputes/*-*")
    before, after = hand.page.locator("main dl.stats dd").all_inner_texts()
    assert float(before) < float(after)
    hand.press("portal.trip.decide.accept")
    assert hand.done() == hand.say("portal.trip.decide.accepted")
    until = time.monotonic() + DRIVE_S
    moved = hand.say("portal.trip.dispute.moved", before=before, after=after)
    while moved not in hand.page.locator("main").inner_text():
        assert time.monotonic() < until
        reloaded(hand)
    assert hand.page.locator(".trip-number").inner_text() == after


def totals_of(hand, name):
    """Number of scored trips and score on the person's page."""
    hand.find(name)
    hand.page.wait_for_url("**/fleet/drivers/*-*")
    hand.follow(hand.say("portal.scores.title"))
    hand.page.wait_for_url("**/scores/people/*-*")
    score, trips, *_ = hand.page.locator("main dl.stats dd").all_inner_texts()
    return trips, score


def correct_the_driver(hand):
    """Accept "I was not driving" by naming another driver; the preview has both people's totals."""
    hand.turn_to("/scores")
    hand.follow(hand.say("portal.scores.name_driver"))
    hand.page.wait_for_url("**/driver?disputeId=*")
    hand.follow(hand.say("portal.assignments.choose_name", name=f"{LEE}, lee@people.example"))
    hand.page.wait_for_url("**chosen=*")
    assert [text.strip() for text in hand.page.locator("#preview tbody th").all_inner_texts()] == [KIM, LEE]
    hand.press("portal.trip_driver.accept")
    assert hand.done().startswith(hand.say("portal.trip_driver.corrected"))


def share(hand, guest, world):
    """Make a link as the company that holds the vehicle; somebody without an account sees the vehicle move."""
    hand.open()
    hand.sign_in(PARTNER)
    hand.find(world.lent.vehicle_no)
    hand.page.wait_for_url("**/fleet/vehicles/*-*")
    hand.follow(hand.say("portal.shares.share"))
    hand.page.wait_for_url("**/share")
    hand.tick(hand.page.locator("input[name=number]"))
    hand.press("portal.shares.submit")
    hand.sees("portal.shares.made_text")
    with world.drive(world.lent, end_ms=now_ms() + 1_000 * len(SPEEDS) // PACE, east_from=len(SPEEDS) // 2):
        guest.page.goto(hand.page.locator("main code").first.inner_text())
        heading = guest.page.locator("[data-part=heading]")
        for degrees in (0, 90):
            turned = guest.say("portal.shares.page.heading", degrees=degrees)
            expect(heading).to_have_text(turned, timeout=PATIENCE_MS)
        expect(guest.page.locator("[data-part=number]")).to_have_text(world.lent.vehicle_no)


def take_back(hand, guest, world):
    """Take the vehicle back; when that was answered, and when the guest's page said that the link has ended."""
    guest.page.evaluate(
        """(sentence) => {
            const state = document.querySelector("[data-part=state]");
            const note = () => { if (state.textContent === sentence) window.gone ??= Date.now(); };
            new MutationObserver(note).observe(state, { childList: true, characterData: true, subtree: true });
        }""",
        guest.sentence(LinkGone()),
    )
    guest.loses = True
    answered = []
    hand.page.on("response", lambda each: each.request.method == "POST" and answered.append(each.request))
    hand.turn_to("/delegation")
    hand.tick(hand.page.locator("tr", has_text=world.lent.vehicle_no).locator("input[name=delegation]"))
    hand.press("portal.delegation.take_back.preview")
    hand.press("portal.delegation.take_back.do", n=1)
    hand.sees("portal.delegation.taken_back", n=1)
    timing = answered[-1].timing
    guest.page.get_by_text(guest.sentence(LinkGone())).first.wait_for()
    expect(guest.page.locator("[data-part=number]")).to_be_hidden()
    return timing["startTime"] + timing["responseStart"], guest.page.evaluate("window.gone")
