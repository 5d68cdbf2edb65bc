"""Disputes over REST: opening one about a trip's event, the list of those that wait, deciding, and what is refused."""

import pytest
from sqlalchemy import select, update
from tests.support import delegating, rest, scoring_rows
from tests.support.scored_fleet import Post, changed, decision, fleet, withdrawal

from tripline import observe
from tripline.domain.fields import LONG_TEXT_MAX
from tripline.services.accounts import postman
from tripline.store.tables import account, mail_outbox

UNKNOWN = "11111111-1111-1111-8111-111111111111"


@pytest.fixture
async def own(app):
    return await fleet(app)


async def test_driver_contests_an_event_and_the_administrator_accepts(app: rest.Rest, own):
    (braking,) = [each for each in await own.events() if each["eventTy"] == 3]
    body = {"eventId": braking["id"]["id"], "reason": "TRAFFIC", "text": "A child ran into the road."}
    opened = await app.post(own.driver, own.of_trip, body)
    waiting = await app.get(own.admin, own.of_company, limit=5, state="OPEN")
    decided = await changed(app, own.admin, decision(opened), {"accept": True, "answer": "Seen."})
    await own.score()
    waiting = waiting["data"]
    kept = await app.get(own.driver, own.of_trip)
    events = await own.events()
    told = await own.explanation()

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


async def test_accepted_trip_says_why_it_has_no_score(app: rest.Rest, own):
    opened = await app.post(own.driver, own.of_trip, {"reason": "NOT_DRIVER", "text": "My colleague drove."})
    await changed(app, own.admin, decision(opened), {"accept": True})
    await own.score()
    score = await app.refused(own.driver, "GET", f"/api/tre/v1_3/trip/{own.trip_id}/analytics/drivingScore")
    record = await app.get(own.driver, f"/api/tre/v1/trip/{own.trip_id}")
    (status, code, text), told = score, await own.explanation()

    assert (status, code) == (404, 32)
    assert "(annulled)" in text
    assert record["notScored"] == told["notScored"] == "annulled"
    assert {each["annulled"] is None for each in told["harshEvents"]} == {False}


async def test_list_shows_those_in_a_state_page_by_page(app: rest.Rest, own):
    opened = []
    for _ in range(3):
        app.now_ms += 1_000
        opened.append(await app.post(own.driver, own.of_trip, {"reason": "OTHER", "text": "no"}))
        own.trip_id = await own.trip()
    await changed(app, own.admin, decision(opened[1]), {"accept": False, "answer": "The video shows it."})
    pages = [await app.get(own.admin, own.of_company, limit=2)]
    pages.append(await app.get(own.admin, own.of_company, limit=2, idOffset=pages[0]["data"][-1]["id"]["id"]))
    oldest = await app.get(own.admin, own.of_company, limit=2, ascOrder="true")
    second = await app.get(own.admin, own.of_company, limit=5, startTime=app.now_ms - 1_000, endTime=app.now_ms - 1_000)
    in_state = {
        state: [each["id"] for each in (await app.get(own.admin, own.of_company, limit=5, state=state))["data"]]
        for state in ("OPEN", "ACCEPTED", "REJECTED")
    }
    pages = [[each["id"] for each in page["data"]] for page in (*pages, oldest, second)]

    first, second, third = (each["id"] for each in opened)
    assert pages == [[third, second], [first], [first, second], [second]]
    assert in_state == {"OPEN": [third, first], "ACCEPTED": [], "REJECTED": [second]}


async def test_director_sees_the_disputes_of_managed_vehicles_alone(app: rest.Rest, own):
    director = await delegating.director(app, own.admin, "director")
    await app.post(own.driver, own.of_trip, {"reason": "OTHER", "text": "no"})
    before = await app.get(director, own.of_company, limit=5)
    await app.post(own.admin, f"/vehicle/{own.vehicle_id}/director/{director.user_id}")
    after = await app.get(director, own.of_company, limit=5)
    decided = await changed(app, director, decision(after["data"][0]), {"accept": False, "answer": "No."})

    assert (before["data"], len(after["data"]), decided["state"]) == ([], 1, "REJECTED")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": "no"}, "reason"),
        ({"reason": "BECAUSE", "text": "no"}, "reason"),
        ({"reason": "OTHER"}, "text"),
        ({"reason": "OTHER", "text": " \n"}, "text"),
        ({"reason": "OTHER", "text": "x" * (LONG_TEXT_MAX + 1)}, "text"),
        ({"reason": "OTHER", "text": "a\x00b"}, "text"),
        ({"reason": "OTHER", "text": "no", "mail": "yes"}, "mail"),
        ({"reason": "OTHER", "text": "no", "eventId": "1"}, "eventId"),
        ({"reason": "OTHER", "text": "no", "eventId": UNKNOWN}, "eventId"),
    ],
)
async def test_bad_value_is_refused_by_its_name(app: rest.Rest, own, body, field):
    status, code, text = await app.refused(own.driver, "POST", own.of_trip, body)

    assert (status, code) == (400, 31)
    assert f"'{field}'" in text


@pytest.mark.parametrize("length", [LONG_TEXT_MAX - 1, LONG_TEXT_MAX])
async def test_longest_text_is_kept_whole(app: rest.Rest, own, length):
    assert (await app.post(own.driver, own.of_trip, {"reason": "OTHER", "text": "가" * length}))[
        "text"
    ] == "가" * length


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "accept"), ({"accept": False}, "answer"), ({"accept": True, "answer": "x" * (LONG_TEXT_MAX + 1)}, "answer")],
)
async def test_decision_needs_what_it_needs(app: rest.Rest, own, body, field):
    opened = await app.post(own.driver, own.of_trip, {"reason": "OTHER", "text": "no"})
    status, code, text = await app.refused(own.admin, "PUT", decision(opened), body)

    assert (status, code) == (400, 31)
    assert f"'{field}'" in text


async def test_refusals_of_state_are_told_in_words(app: rest.Rest, own):
    whole = {"reason": "OTHER", "text": "no"}
    opened = await app.post(own.driver, own.of_trip, whole)
    told = [await app.refused(own.driver, "POST", own.of_trip, whole)]
    told.append(await app.refused(own.admin, "PUT", withdrawal(opened)))
    withdrawn = await changed(app, own.driver, withdrawal(opened))
    told.append(await app.refused(own.admin, "PUT", decision(opened), {"accept": True}))
    again = await app.post(own.admin, own.of_trip, whole)
    told.append(await app.refused(own.admin, "PUT", decision(again), {"accept": True}))

    assert [(status, code) for status, code, _ in told] == [(409, 2), (403, 20), (409, 2), (403, 20)]
    assert told[2][2] == "This dispute is already WITHDRAWN."
    assert withdrawn["state"] == "WITHDRAWN"


ASKED = {"reason": "TRAFFIC", "text": "A child ran into the road.", "mail": True}


async def test_mail_tells_who_asked_for_it_of_the_new_score_once(app: rest.Rest, own):
    post = Post(own)
    (braking,) = [each for each in await own.events() if each["eventTy"] == 3]
    opened = await app.post(own.driver, own.of_trip, {**ASKED, "eventId": braking["id"]["id"]})
    app.signals.told.clear()
    counts = [await post.round()]
    await changed(app, own.admin, decision(opened), {"accept": True, "answer": "Seen."})
    told = list(app.signals.told)
    counts += [await post.round(), await post.round(postman.EARLY_MS - 1)]
    await own.score()
    counts += [await post.round(), await post.round(1), await post.round(postman.LEASE_MS)]
    (dispute,) = (await app.get(own.driver, own.of_trip))["data"]
    letters = post.box.letters

    assert opened["mail"]
    assert (observe.SIGNAL_MAIL_DUE, "") in told
    assert counts == [(0, 0), (0, 1), (0, 1), (0, 1), (1, 0), (1, 0)]
    (letter,) = letters
    assert (letter.recipient, letter.subject) == ("driver@people.example", "Your dispute was accepted")
    assert "Vehicle: 12가3456\nDisputed: harsh deceleration at 2025-01-01 09:00:11 (Asia/Seoul)\n" in letter.text
    before, after = dispute["scoreBefore"], dispute["scoreAfter"]
    assert f"\nScore of the trip: {before:.1f} before, {after:.1f} now\n\nThe reason:\n\nSeen.\n" in letter.text
    kept = [own.trip_id, own.vehicle_id, opened["id"]["id"], own.driver.user_id, own.driver.token, "http"]
    assert [each for each in kept if each in letter.text] == []


async def test_mail_of_a_trip_that_is_not_scored_anew_waits_so_long_and_no_longer(app: rest.Rest, own):
    post = Post(own)
    opened = await app.post(own.driver, own.of_trip, ASKED)
    await changed(app, own.admin, decision(opened), {"accept": True})

    assert await post.round() == (0, 1)
    assert await post.round(postman.SCORE_MS - 1) == (0, 1)
    assert await post.round(postman.EARLY_MS) == (1, 0)
    assert ["not scored anew yet" in letter.text for letter in post.box.letters] == [True]


@pytest.mark.parametrize("language", ["ko", None])
async def test_mail_of_a_rejection_goes_at_once_in_the_language_of_the_account(app: rest.Rest, own, language):
    post = Post(own)
    whose = update(account).where(account.c.id == own.driver.user_id)
    await app.store.write(lambda tx: tx.run(whose.values(language=language)))
    opened = await app.post(own.driver, own.of_trip, ASKED)
    await changed(app, own.admin, decision(opened), {"accept": False, "answer": "No child."})

    subject = "Your dispute was rejected" if language is None else "이의 제기가 받아들여지지 않았습니다"

    assert await post.round() == (1, 0)
    assert [(letter.subject, "No child." in letter.text) for letter in post.box.letters] == [(subject, True)]


@pytest.mark.parametrize("what", ["not asked", "asked not", "withdrawn"])
async def test_no_mail_waits_for_who_wants_none_or_withdraws(app: rest.Rest, own, what):
    post = Post(own)
    wish = {"not asked": {"mail": None}, "asked not": {"mail": False}, "withdrawn": {}}[what]
    opened = await app.post(own.driver, own.of_trip, ASKED | wish)
    if what == "withdrawn":
        await changed(app, own.driver, withdrawal(opened))
    else:
        await changed(app, own.admin, decision(opened), {"accept": False, "answer": "No."})
    waiting = await app.store.read(lambda tx: tx.all(select(mail_outbox.c.no)))

    assert (opened["mail"], waiting, await post.round()) == (what == "withdrawn", [], (0, 0))


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("what", ["deleted", "disabled", "unset", "vehicle deleted"])
async def test_mail_goes_to_nobody_who_may_not_read_the_trip_any_more(app: rest.Rest, own, what, when):
    post = Post(own)
    director = await delegating.director(app, own.admin, "director")
    managed = f"/vehicle/{own.vehicle_id}/director/{director.user_id}"
    await app.post(own.admin, managed)
    opened = await app.post(director, own.of_trip, ASKED)

    async def lose():
        if what == "disabled":
            whose = update(account).where(account.c.id == director.user_id)
            await app.store.write(lambda tx: tx.run(whose.values(enabled=False)))
            return
        gone = {"deleted": f"/director/{director.user_id}", "unset": managed}
        answer = await app.call(own.admin, "DELETE", gone.get(what, f"/vehicle/{own.vehicle_id}"))
        assert answer.status_code == 200, answer.text

    if when == "before":
        await lose()
    if (what, when) != ("vehicle deleted", "before"):
        await changed(app, own.admin, decision(opened), {"accept": False, "answer": "No."})
    if when == "after":
        await lose()

    assert await post.round() == (0, 0)
