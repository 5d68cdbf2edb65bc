"""The driver of a past trip over REST: correcting it, what follows, undoing it, and what is refused."""

import pytest
from sqlalchemy import delete, select, update
from tests.support import delegating, kept_sums, rest
from tests.support.scored_fleet import Post, changed, decision, fleet

from tripline.domain.access import Authority
from tripline.domain.ids import UserId
from tripline.store.erasure import remains
from tripline.store.scores import rescore, sums
from tripline.store.tables import driving_score, gps_event, trip, vehicle_score

ANALYTICS = "/api/tre/v1_2/driver/{}/analytics/"


def of_driver(own, trip_id=None):
    return f"/api/tre/v1_3/trip/{trip_id or own.trip_id}/driver"


async def cast(app):
    """A scored trip of `driver`, another trip of `colleague`, and a managing director."""
    own = await fleet(app)
    own.colleague = await delegating.driver(app, own.admin, "colleague")
    own.director = await app.person(own.admin, Authority.DIRECTOR, "director")
    director = f"/vehicle/{own.vehicle_id}/director/{own.director.user_id}"
    assert (await app.call(own.admin, "POST", director)).status_code == 200
    own.first_id = own.trip_id
    app.now_ms += 60_000
    own.trip_id = await own.trip()
    app.now_ms += 60_000
    return own


async def facts(app, own, login):
    """What the person's lists tell."""
    page = {"limit": 9}
    scores = await app.get(own.admin, ANALYTICS.format(login.user_id) + "drivingScore", **page)
    events = await app.get(own.admin, ANALYTICS.format(login.user_id) + "gpsEvent", **page)
    trend = await app.get(own.admin, f"/api/tre/v1_3/driver/{login.user_id}/analytics/trend", **page, period="month")
    trips = await app.get(own.admin, f"/driver/{login.user_id}/trips", **page)
    return {
        "scores": [each["id"]["id"] for each in scores["data"]],
        "events": {each["tripId"]["id"] for each in events["data"]},
        "trend": [(each["count"], each["distance"], each["score"]) for each in trend["data"]],
        "trips": [each["id"]["id"] for each in trips["data"]],
    }


async def settled(app):
    """Sums as kept and as all scores give them, and who is named where."""

    def work(tx):
        own = [tuple(row) for row in tx.all(select(driving_score.c.trip_id, driving_score.c.user_id))]
        events = {tuple(row) for row in tx.all(select(gps_event.c.trip_id, gps_event.c.user_id))}
        return sums.kept(tx) == kept_sums.recomputed(tx), dict(own), events

    return await app.store.read(work)


@pytest.fixture
async def own(app):
    return await cast(app)


async def test_corrected_driver_has_the_trip_with_its_score_events_and_sums(app: rest.Rest, own):
    newest = (await app.get(own.admin, ANALYTICS.format(own.driver.user_id) + "drivingScore", limit=1))["data"][0]
    told = await app.get(own.admin, of_driver(own), driverId=own.colleague.user_id)
    app.now_ms += 60_000
    corrected = await changed(app, own.admin, of_driver(own), {"driverId": own.colleague.user_id})
    after = (await app.get(own.colleague, ANALYTICS.format(own.colleague.user_id) + "drivingScore", limit=1))["data"]
    record = await app.get(own.admin, f"/trip/{own.trip_id}")
    total = await app.get(own.admin, f"/api/tre/v1_3/vehicle/{own.vehicle_id}/analytics/drivingScore/stat")
    latest = [await app.get(own.admin, f"/driver/{each.user_id}/trip/latest") for each in (own.driver, own.colleague)]
    own, newest, told, corrected, after, record, total, latest, former, new, kept = (
        *(own, newest, told, corrected, after, record, total, latest),
        *[await facts(app, own, each) for each in (own.driver, own.colleague)],
        await settled(app),
    )

    (score,) = after
    assert corrected["driverId"]["id"] == own.colleague.user_id == record["userId"]["id"] == total["userId"]["id"]
    assert (corrected["recordedDriverId"]["id"], told["correctedTime"]) == (own.driver.user_id, None)
    assert corrected["correctedTime"] == rest.NOW_MS + 180_000
    assert {**score, "createdTime": 0, "userId": 0} == {**newest, "createdTime": 0, "userId": 0}
    assert score["createdTime"] == corrected["correctedTime"] + 1 > newest["createdTime"]
    assert total["createdTime"] == score["createdTime"] + 1
    assert (former["scores"], former["trips"], former["events"]) == ([own.first_id], [own.first_id], {own.first_id})
    assert (new["scores"], new["trips"], new["events"]) == ([own.trip_id], [own.trip_id], {own.trip_id})
    assert [each["id"]["id"] for each in latest] == [own.first_id, own.trip_id]
    assert [each["driverId"]["id"] for each in told["changes"]] == [own.driver.user_id, own.colleague.user_id]
    (gone, gained) = [each["after"] for each in told["changes"]]
    assert [tuple(gone.values())] == [(1, 10_000, pytest.approx(former["trend"][0][2]), 0.0)]
    assert [tuple(gained.values())] == [(1, 10_000, pytest.approx(new["trend"][0][2]), 0.0)]
    assert [each["before"]["count"] for each in told["changes"]] == [2, 0]
    right, scores, events = kept
    assert right
    assert scores == {own.first_id: own.driver.user_id, own.trip_id: own.colleague.user_id}
    assert events == set(scores.items())


async def test_undone_correction_restores_the_recorded_driver(app: rest.Rest, own):
    before = await facts(app, own, own.driver)
    await changed(app, own.director, of_driver(own), {"driverId": own.colleague.user_id})
    answer = await app.call(own.admin, "DELETE", of_driver(own))
    again = await app.refused(own.admin, "DELETE", of_driver(own))
    page = {"limit": 9}
    history = (await app.get(own.admin, f"/vehicle/{own.vehicle_id}/history", **page))["data"]
    own_history = (await app.get(own.colleague, f"/user/{own.colleague.user_id}/history", **page))["data"]
    after, undone, kept = await facts(app, own, own.driver), answer.json(), await settled(app)

    assert after == before
    assert kept[0]
    assert (undone["driverId"]["id"], undone["correctedTime"]) == (own.driver.user_id, None)
    assert again[:2] == (409, 2)
    moves = [each for each in history if each["event"].startswith("TRIP_DRIVER")]
    assert [(each["event"], each["userName"], each["actorName"]) for each in moves] == [
        ("TRIP_DRIVER_SET", "driver", moves[0]["actorName"]),
        ("TRIP_DRIVER_UNSET", "colleague", moves[0]["actorName"]),
        ("TRIP_DRIVER_SET", "colleague", "director"),
        ("TRIP_DRIVER_UNSET", "driver", "director"),
    ]
    assert [each["changes"] for each in moves] == [
        [{"field": "tripId", "before": None, "after": own.trip_id, "secret": False}]
    ] * 4
    assert [each["event"] for each in own_history][:2] == ["TRIP_DRIVER_UNSET", "TRIP_DRIVER_SET"]


async def test_scoring_again_keeps_the_corrected_driver(app: rest.Rest, own):
    await changed(app, own.admin, of_driver(own), {"driverId": own.colleague.user_id})

    def ask(tx):
        nos = [row[0] for row in tx.all(select(trip.c.no))]
        tx.run(delete(gps_event))
        rescore.ask(tx, nos, due_ms=app.now_ms)

    await app.store.write(ask)
    await own.score()
    (right, scores, events) = await settled(app)

    assert right
    assert scores == {own.first_id: own.driver.user_id, own.trip_id: own.colleague.user_id}
    assert events == set(scores.items())


async def test_dispute_accepted_with_another_driver_annuls_nothing(app: rest.Rest, own):
    post = Post(own)
    before = await own.explanation()
    body = {"reason": "NOT_DRIVER", "text": "My colleague drove.", "mail": True}
    opened = await app.post(own.driver, own.of_trip, body)
    to_own = {"accept": True, "answer": "The log book.", "driverId": own.colleague.user_id}
    decided = await changed(app, own.admin, decision(opened), to_own)
    counts = await post.round()
    path = f"/api/tre/v1_3/dispute/{opened['id']['id']}"
    read = [await app.get(each, path) for each in (own.driver, own.colleague)]
    refused = await app.refused(own.driver, "GET", own.of_trip)
    contested = await app.post(own.colleague, own.of_trip, {**body, "text": "I was ill."})
    own.driver = own.colleague
    after = await own.explanation()
    letters, kept = post.box.letters, await settled(app)

    assert (decided["state"], decided["driverId"]["id"]) == ("CORRECTED", own.colleague.user_id)
    assert (after["score"], after["notScored"]) == (before["score"], None)
    assert kept[0]
    assert [each["driverId"] for each in read] == [None, {"id": own.colleague.user_id}]
    assert {**read[0], "driverId": decided["driverId"]} == decided == read[1]
    assert refused[0] == 403
    assert (contested["state"], contested["openedBy"]["id"]) == ("OPEN", own.colleague.user_id)
    assert counts == (2, 0)
    assert [(each.recipient, each.subject) for each in letters] == [
        ("colleague@people.example", "You are now the driver of a past trip"),
        ("driver@people.example", "Your dispute was accepted"),
    ]
    assert "now recorded under another driver" in letters[1].text
    assert "The log book." in letters[1].text
    hidden = [own.trip_id, own.vehicle_id, own.colleague.user_id, "http"]
    assert [each for each in hidden for letter in letters if each in letter.text] == []
    assert "colleague" not in letters[1].text


@pytest.mark.parametrize(
    ("reason", "whom", "answer"),
    [
        ("TRAFFIC", "colleague", (400, 31)),
        ("NOT_DRIVER", "driver", (400, 31)),
        ("NOT_DRIVER", "director", (403, 20)),
        ("NOT_DRIVER", "stranger", (403, 20)),
    ],
)
async def test_dispute_is_accepted_only_with_another_who_may_drive(app: rest.Rest, own, reason, whom, answer):
    _, other = await app.operator("other")
    own.stranger = await delegating.driver(app, other, "stranger")
    opened = await app.post(own.driver, own.of_trip, {"reason": reason, "text": "Not I."})
    sent = {"accept": True, "driverId": getattr(own, whom).user_id}
    refused = await app.refused(own.director, "PUT", decision(opened), sent)
    kept = (await app.get(own.admin, own.of_trip))["data"]
    state, kept = kept[0]["state"], await settled(app)

    assert refused[:2] == answer
    assert (state, kept[0], len(set(kept[1].values()))) == ("OPEN", True, 1)


@pytest.mark.parametrize(
    ("who", "whom", "answer"),
    [
        ("director", "colleague", (403, 20, "You are a driver of this trip")),
        ("admin", "stranger", (403, 20, "outside your reach")),
        ("admin", "nobody", (404, 32, "driver")),
        ("driver", "colleague", (403, 20, "role DRIVER")),
    ],
)
async def test_driver_is_corrected_by_others_and_for_those_who_may_drive(app: rest.Rest, own, who, whom, answer):
    _, other = await app.operator("other")
    people = {"stranger": (await delegating.driver(app, other, "stranger")).user_id, "nobody": delegating.UNKNOWN}
    people["colleague"] = own.colleague.user_id
    # The managing director drove it, and stays barred after a correction to somebody else.
    await app.store.write(lambda tx: tx.run(update(trip).values(user_id=own.director.user_id)))
    if who == "director":
        await changed(app, own.admin, of_driver(own), {"driverId": own.driver.user_id})
    status, code, text = await app.refused(getattr(own, who), "PUT", of_driver(own), {"driverId": people[whom]})

    assert (status, code) == answer[:2]
    assert answer[2] in text


@pytest.mark.parametrize(
    ("state", "word"), [({"state": "OPEN"}, "has not ended"), ({"vehicle_id": None}, "belongs to no vehicle")]
)
async def test_trip_whose_driver_cannot_be_corrected_is_refused(app: rest.Rest, own, state, word):
    await app.store.write(lambda tx: tx.run(update(trip).values(state)))
    status, code, text = await app.refused(own.admin, "PUT", of_driver(own), {"driverId": own.colleague.user_id})

    assert (status, code, word in text) == (409, 2, True)


async def test_deleted_recorded_driver_leaves_the_correction_and_its_undo(app: rest.Rest, own):
    await changed(app, own.admin, of_driver(own), {"driverId": own.colleague.user_id})
    assert (await app.call(own.admin, "DELETE", f"/driver/{own.driver.user_id}")).status_code == 200
    read = await app.get(own.admin, of_driver(own))
    person = UserId(own.driver.user_id)
    while await app.store.write(lambda tx: remains.erase_some_of_person(tx, person, limit=50)):
        pass

    def named(tx):
        whose = (trip.c.recorded_user_id, trip.c.user_id, driving_score.c.user_id, vehicle_score.c.user_id)
        return {row[0] for each in whose for row in tx.all(select(each))}

    people = await app.store.read(named)
    undone = await app.call(own.admin, "DELETE", of_driver(own))
    undone, kept = undone.json(), await settled(app)

    assert (read["driverId"]["id"], read["recordedDriverId"]) == (own.colleague.user_id, None)
    assert own.driver.user_id not in people
    assert (undone["driverId"], undone["correctedTime"]) == (None, None)
    assert kept[0]
