"""Disputes over REST: opening one about a trip's event, the list of those that wait, deciding, and what is refused."""

import pytest
from tests.support import delegating, rest, scoring_rows

from tripline.domain.fields import LONG_TEXT_MAX
from tripline.domain.ids import no_of
from tripline.scoring.rules import Rules
from tripline.services.scores.scorer import Scorer
from tripline.store.tables import scoring_job, trip

UNKNOWN = "11111111-1111-1111-8111-111111111111"
SPEEDS = [*[30.0] * 5, 44, 58, *[58.0] * 4, 40, 22, *[22.0] * 4]
"""An acceleration and a deceleration."""


class Fleet:
    """An operator with a vehicle, its driver, and a trip that was scored from samples."""

    def __init__(self, app, admin):
        self.app, self.admin = app, admin

    async def drive(self):
        app = self.app
        self.driver = await delegating.driver(app, self.admin, "driver")
        self.vehicle_id = await delegating.new_vehicle(app, self.admin)
        self.trip_id = await self.trip()
        return self

    async def trip(self):
        app = self.app
        trip_id = app.ids.next(now_ms=app.now_ms)

        def work(tx):
            row = {"no": no_of(trip_id), "id": trip_id, "created_ms": app.now_ms, "company_id": self.admin.company_id}
            row |= {"vehicle_id": self.vehicle_id, "user_id": self.driver.user_id, "service_type": "taxi"}
            row |= {"device_type": "GPS", "parking": False, "state": "COMPLETE", "distance_m": 10_000}
            tx.run(trip.insert().values(row))
            for packed in scoring_rows.drive(*SPEEDS):
                scoring_rows.add_microtrip(tx, app.ids, row["no"], packed)
            tx.run(scoring_job.insert().values(trip_no=row["no"], due_ms=0))

        await app.store.write(work)
        await self.score()
        return trip_id

    async def score(self):
        app = self.app
        scorer = Scorer(
            store=app.store,
            rules=Rules(),
            ids=app.ids,
            signals=scoring_rows.Hints(),
            clock=lambda: app.now_ms,
            zone=scoring_rows.ZONE,
        )
        while await scorer.score_due():
            pass

    async def events(self):
        page = f"/api/tre/v1_3/vehicle/{self.vehicle_id}/analytics/gpsEvent"
        return (await self.app.get(self.admin, page, limit=20))["data"]

    @property
    def of_trip(self):
        return f"/api/tre/v1_3/trip/{self.trip_id}/dispute"

    @property
    def of_company(self):
        return f"/api/tre/v1_3/company/{self.admin.company_id}/dispute"

    async def explanation(self):
        return await self.app.get(self.driver, f"/api/tre/v1_3/trip/{self.trip_id}/analytics/drivingScore/explanation")


async def fleet(app):
    _, admin = await app.operator("taxi")
    return await Fleet(app, admin).drive()


def decision(dispute):
    return f"/api/tre/v1_3/dispute/{dispute['id']['id']}/decision"


def withdrawal(dispute):
    return f"/api/tre/v1_3/dispute/{dispute['id']['id']}/withdrawal"


async def changed(app, login, path, body=None):
    answer = await app.call(login, "PUT", path, body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_driver_contests_an_event_and_the_administrator_accepts(run):
    async def play(app):
        own = await fleet(app)
        (braking,) = [each for each in await own.events() if each["eventTy"] == 3]
        body = {"eventId": braking["id"]["id"], "reason": "TRAFFIC", "text": "A child ran into the road."}
        opened = await app.post(own.driver, own.of_trip, body)
        waiting = await app.get(own.admin, own.of_company, limit=5, state="OPEN")
        decided = await changed(app, own.admin, decision(opened), {"accept": True, "answer": "Seen."})
        await own.score()
        return (
            *(own, braking, opened, waiting["data"], decided),
            await app.get(own.driver, own.of_trip),
            await own.events(),
            await own.explanation(),
        )

    own, braking, opened, waiting, decided, kept, events, told = run(play)

    assert opened["event"] == {
        "id": braking["id"],
        "eventTy": 3,
        "eventTs": braking["eventTs"],
        "beginTs": scoring_rows.START_MS + 10_000,
        "endTs": scoring_rows.START_MS + 12_000,
    }
    assert (opened["state"], opened["tripId"]["id"], opened["vehicleId"]["id"]) == (
        *("OPEN", own.trip_id),
        own.vehicle_id,
    )
    assert opened["openedBy"]["id"] == opened["driverId"]["id"] == own.driver.user_id
    assert waiting == [opened]
    assert (decided["state"], decided["decidedBy"]["id"], decided["answer"]) == (
        *("ACCEPTED", own.admin.user_id),
        "Seen.",
    )
    (dispute,) = kept["data"]
    assert dispute["scoreBefore"] < dispute["scoreAfter"] == told["score"]
    assert [each["eventTy"] for each in events] == [2]
    assert told["disputes"] == [dispute]
    assert [(each["eventTy"], each["annulled"], each["cost"] > 0) for each in told["harshEvents"]] == [
        (2, None, True),
        (3, opened["id"], False),
    ]


def test_accepted_trip_says_why_it_has_no_score(run):
    async def play(app):
        own = await fleet(app)
        opened = await app.post(own.driver, own.of_trip, {"reason": "NOT_DRIVER", "text": "My colleague drove."})
        await changed(app, own.admin, decision(opened), {"accept": True})
        await own.score()
        score = await app.refused(own.driver, "GET", f"/api/tre/v1_3/trip/{own.trip_id}/analytics/drivingScore")
        record = await app.get(own.driver, f"/api/tre/v1/trip/{own.trip_id}")
        return score, record, await own.explanation()

    (status, code, text), record, told = run(play)

    assert (status, code) == (404, 32)
    assert "(annulled)" in text
    assert record["notScored"] == told["notScored"] == "annulled"
    assert {each["annulled"] is None for each in told["harshEvents"]} == {False}


def test_list_shows_those_in_a_state_page_by_page(run):
    async def play(app):
        own = await fleet(app)
        opened = []
        for _ in range(3):
            app.now_ms += 1_000
            opened.append(await app.post(own.driver, own.of_trip, {"reason": "OTHER", "text": "no"}))
            own.trip_id = await own.trip()
        await changed(app, own.admin, decision(opened[1]), {"accept": False, "answer": "The video shows it."})
        pages = [await app.get(own.admin, own.of_company, limit=2)]
        pages.append(await app.get(own.admin, own.of_company, limit=2, idOffset=pages[0]["data"][-1]["id"]["id"]))
        oldest = await app.get(own.admin, own.of_company, limit=2, ascOrder="true")
        second = await app.get(
            own.admin, own.of_company, limit=5, startTime=app.now_ms - 1_000, endTime=app.now_ms - 1_000
        )
        in_state = {
            state: [each["id"] for each in (await app.get(own.admin, own.of_company, limit=5, state=state))["data"]]
            for state in ("OPEN", "ACCEPTED", "REJECTED")
        }
        return opened, [[each["id"] for each in page["data"]] for page in (*pages, oldest, second)], in_state

    opened, pages, in_state = run(play)

    first, second, third = (each["id"] for each in opened)
    assert pages == [[third, second], [first], [first, second], [second]]
    assert in_state == {"OPEN": [third, first], "ACCEPTED": [], "REJECTED": [second]}


def test_director_sees_the_disputes_of_managed_vehicles_alone(run):
    async def play(app):
        own = await fleet(app)
        director = await delegating.director(app, own.admin, "director")
        await app.post(own.driver, own.of_trip, {"reason": "OTHER", "text": "no"})
        before = await app.get(director, own.of_company, limit=5)
        await app.post(own.admin, f"/vehicle/{own.vehicle_id}/director/{director.user_id}")
        after = await app.get(director, own.of_company, limit=5)
        decided = await changed(app, director, decision(after["data"][0]), {"accept": False, "answer": "No."})
        return before["data"], after["data"], decided["state"]

    before, after, decided = run(play)

    assert (before, len(after), decided) == ([], 1, "REJECTED")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": "no"}, "reason"),
        ({"reason": "BECAUSE", "text": "no"}, "reason"),
        ({"reason": "OTHER"}, "text"),
        ({"reason": "OTHER", "text": " \n"}, "text"),
        ({"reason": "OTHER", "text": "x" * (LONG_TEXT_MAX + 1)}, "text"),
        ({"reason": "OTHER", "text": "a\x00b"}, "text"),
        ({"reason": "OTHER", "text": "no", "eventId": "1"}, "eventId"),
        ({"reason": "OTHER", "text": "no", "eventId": UNKNOWN}, "eventId"),
    ],
)
def test_bad_value_is_refused_by_its_name(run, body, field):
    async def play(app):
        own = await fleet(app)
        return await app.refused(own.driver, "POST", own.of_trip, body)

    status, code, text = run(play)

    assert (status, code) == (400, 31)
    assert f"'{field}'" in text


@pytest.mark.parametrize("length", [LONG_TEXT_MAX - 1, LONG_TEXT_MAX])
def test_longest_text_is_kept_whole(run, length):
    async def play(app):
        own = await fleet(app)
        return await app.post(own.driver, own.of_trip, {"reason": "OTHER", "text": "가" * length})

    assert run(play)["text"] == "가" * length


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "accept"), ({"accept": False}, "answer"), ({"accept": True, "answer": "x" * (LONG_TEXT_MAX + 1)}, "answer")],
)
def test_decision_needs_what_it_needs(run, body, field):
    async def play(app):
        own = await fleet(app)
        opened = await app.post(own.driver, own.of_trip, {"reason": "OTHER", "text": "no"})
        return await app.refused(own.admin, "PUT", decision(opened), body)

    status, code, text = run(play)

    assert (status, code) == (400, 31)
    assert f"'{field}'" in text


def test_refusals_of_state_are_told_in_words(run):
    async def play(app):
        own = await fleet(app)
        whole = {"reason": "OTHER", "text": "no"}
        opened = await app.post(own.driver, own.of_trip, whole)
        told = [await app.refused(own.driver, "POST", own.of_trip, whole)]
        told.append(await app.refused(own.admin, "PUT", withdrawal(opened)))
        withdrawn = await changed(app, own.driver, withdrawal(opened))
        told.append(await app.refused(own.admin, "PUT", decision(opened), {"accept": True}))
        again = await app.post(own.admin, own.of_trip, whole)
        told.append(await app.refused(own.admin, "PUT", decision(again), {"accept": True}))
        return told, withdrawn

    told, withdrawn = run(play)

    assert [(status, code) for status, code, _ in told] == [(409, 2), (403, 20), (409, 2), (403, 20)]
    assert told[2][2] == "This dispute is already WITHDRAWN."
    assert withdrawn["state"] == "WITHDRAWN"


@pytest.fixture
def run(tmp_path):
    """Play on an empty installation."""

    def play(story):
        return rest.run(tmp_path, story)

    return play
