"""A company's administrators see the messages to its server, and resend those that were given up."""

import base64
import itertools

import pytest
from sqlalchemy import select
from tests.support import outbox, rest
from tests.support.outbox import Waiting

from tripline import observe
from tripline.domain.access import Authority
from tripline.domain.ids import RowNo, SensorId, created_ms
from tripline.domain.pushes import Channel
from tripline.ports.webhooks import UNANSWERED
from tripline.services.push import resender
from tripline.store.push import queue as push_queue
from tripline.store.push import receiver_state
from tripline.store.push.queue import Result
from tripline.store.tables import push_outbox, push_resend, push_secret

SENSORS = [SensorId(f"c4d91e6{number}-c801-11ef-9d5c-6b1f6f2a4c11") for number in range(3)]
REQUEST = "d4d91e60-c801-11ef-9d5c-6b1f6f2a4c11"
UNKNOWN = "e4d91e60-c801-11ef-9d5c-6b1f6f2a4c11"
HOST = {"notifyHost": "http://n.example/", "notifyMsgType": "2"}


async def waiting(app, company_id, count, *, channel=Channel.NOTIFY, selector=2):
    """So many messages in the outbox; their ids."""
    first = app.ids.take(count, now_ms=app.now_ms)
    messages = [
        Waiting(
            no=RowNo(first + place),
            id=app.ids.text(first + place),
            company_id=company_id,
            sensor_id=SENSORS[place % 3],
            selector=selector,
            body=b"{}",
            due_ms=app.now_ms,
            channel=channel,
            request_id=REQUEST if channel is Channel.RPC_NOTIFY else None,
        )
        for place in range(count)
    ]
    await app.store.write(lambda tx: outbox.add(tx, messages))
    return [message.id for message in messages]


async def parked(app, company_id, count, **how):
    """So many messages that were given up; their ids."""
    ids = await waiting(app, company_id, count, **how)
    chosen = select(push_outbox.c.no).where(push_outbox.c.id.in_(ids))
    given_up = [
        Result(row.no, 3, app.now_ms, "HTTP status 404.") for row in await app.store.read(lambda tx: tx.all(chosen))
    ]
    await app.store.write(lambda tx: push_queue.settle(tx, delivered=[], postponed=[], parked=given_up))
    return ids


@pytest.fixture
async def admin(app: rest.Rest):
    """The administrator of a company that receives pushes."""
    return await app.staged(_admin)


async def _admin(app: rest.Rest):
    return (await app.operator("ace", **HOST))[1]


@pytest.fixture
def path(admin):
    return f"/company/{admin.company_id}/push"


async def test_counts_are_those_of_the_company(app, admin, path):
    none = await app.get(admin, path)
    _, other = await app.partner(admin, "p@p.example")
    await parked(app, other.company_id, 2)
    await waiting(app, admin.company_id, 3)
    await parked(app, admin.company_id, 1)
    some, now_ms = await app.get(admin, path), app.now_ms

    assert none == {
        "waiting": 0,
        "parked": 0,
        "unconfirmed": 0,
        "mute": [],
        "oldestTime": None,
        "lastError": None,
    }
    assert some == {**none, "waiting": 3, "parked": 1, "oldestTime": now_ms, "lastError": "HTTP status 404."}


async def unconfirmed(app, company_id, count, **how):
    """So many messages that a mute receiver took; their ids."""
    ids = await waiting(app, company_id, count, **how)
    chosen = select(push_outbox.c.no).where(push_outbox.c.id.in_(ids))
    taken = [Result(row.no, 1, app.now_ms, UNANSWERED) for row in await app.store.read(lambda tx: tx.all(chosen))]

    def work(tx):
        push_queue.settle(tx, delivered=[], postponed=[], parked=[], unconfirmed=taken)
        key = (company_id, how.get("channel", Channel.NOTIFY))
        receiver_state.silent(tx, key, since_ms=app.now_ms, readdressed_ms=0)

    await app.store.write(work)
    return ids


async def test_m3_receivers_that_never_answer_are_shown_in_words_with_their_unconfirmed_messages(app, admin, path):
    _, other = await app.partner(admin, "p@p.example")
    await unconfirmed(app, other.company_id, 1)
    await unconfirmed(app, admin.company_id, 3)
    await unconfirmed(app, admin.company_id, 2, channel=Channel.RPC_NOTIFY)
    counts, listed, now_ms = await app.get(admin, path), await app.get(admin, f"{path}/parked", limit=10), app.now_ms

    said = {"state": "takes messages and never answers", "sinceTime": now_ms}
    assert (counts["waiting"], counts["parked"], counts["unconfirmed"]) == (0, 0, 5)
    assert sorted(counts["mute"], key=lambda each: each["channel"]) == [
        {"channel": "notify", **said, "unconfirmed": 3},
        {"channel": "rpcNotify", **said, "unconfirmed": 2},
    ]
    assert listed["data"] == []


@pytest.mark.parametrize(("body", "sent"), [({}, 1), ({"unconfirmed": False}, 1), ({"unconfirmed": True}, 3)])
async def test_unconfirmed_messages_are_sent_again_when_they_are_named(app, admin, path, body, sent):
    await parked(app, admin.company_id, 1)
    await unconfirmed(app, admin.company_id, 3)

    assert await app.post(admin, f"{path}/resend", body) == {"count": sent, "released": 0}
    assert (await app.get(admin, path))["waiting"] == sent


async def test_resend_and_another_address_are_written_down_and_told_to_every_process(app, admin, path):
    company_id = admin.company_id
    key = (company_id, Channel.NOTIFY)
    await unconfirmed(app, company_id, 1)
    found = []

    async def look():
        facts = await app.store.read(lambda tx: receiver_state.facts(tx, key))
        found.append((facts.mute_ms > 0, facts.readdressed_ms > 0, facts.asked_ms > 0, facts.owed))

    async def change(**body):
        answer = await app.call(admin, "PUT", f"/company/{company_id}", body)
        assert answer.status_code == 200
        await look()

    await change(region="Busan", notifyHost=HOST["notifyHost"])
    await app.post(admin, f"{path}/resend", {})
    await look()
    app.signals.told.clear()
    await change(notifyHost="http://other.example/")
    told, rpc_readdressed_ms = (
        app.signals.told,
        await app.store.read(lambda tx: receiver_state.facts(tx, (company_id, Channel.RPC_NOTIFY)).readdressed_ms),
    )

    assert found == [
        (True, False, False, True),
        (True, False, True, True),
        (False, True, True, True),
    ]
    assert (observe.SIGNAL_COMPANY_CHANGED, company_id) in told
    assert rpc_readdressed_ms == 0


async def test_error_of_what_waits_comes_before_that_of_what_was_given_up(app, admin, path):
    await parked(app, admin.company_id, 1)
    await waiting(app, admin.company_id, 1)
    [row] = await app.store.read(lambda tx: tx.all(select(push_outbox.c.no).where(push_outbox.c.parked_ms.is_(None))))
    failed = [Result(row.no, 1, app.now_ms + 1_000, "The connection failed: Connection refused.")]
    await app.store.write(lambda tx: push_queue.settle(tx, delivered=[], postponed=failed, parked=[]))

    assert (await app.get(admin, path))["lastError"] == "The connection failed: Connection refused."


async def test_parked_message_is_told_without_what_it_says(app, admin, path):
    ids = await parked(app, admin.company_id, 1, channel=Channel.RPC_NOTIFY)
    (message_id,), data, now_ms = ids, (await app.get(admin, f"{path}/parked", limit=5))["data"], app.now_ms

    assert data == [
        {
            "id": {"id": message_id},
            "channel": "rpcNotify",
            "sensorId": {"id": SENSORS[0]},
            "selector": 2,
            "requestId": {"id": REQUEST},
            "createdTime": created_ms(message_id),
            "parkedTime": now_ms,
            "attempts": 3,
            "lastError": "HTTP status 404.",
        }
    ]


@pytest.mark.parametrize("ascending", [True, False])
async def test_parked_messages_are_paged(app, admin, path, ascending):
    ids = await parked(app, admin.company_id, 5)
    _, other = await app.partner(admin, "p@p.example")
    await parked(app, other.company_id, 2)
    seen, query = [], {"limit": 2, "ascOrder": str(ascending).lower()}
    while query:
        page = await app.get(admin, f"{path}/parked", **query)
        seen.append([record["id"]["id"] for record in page["data"]])
        query = page["hasNext"] and query | {"idOffset": page["nextPageLink"]["idOffset"]}

    assert [len(page) for page in seen] == [2, 2, 1]
    assert list(itertools.chain(*seen)) == (ids if ascending else ids[::-1])


async def test_parked_messages_of_a_time_are_listed(app, admin, path):
    began_ms = app.now_ms
    ids = []
    for _ in range(3):
        ids += await parked(app, admin.company_id, 1)
        app.now_ms += 1_000
    page = await app.get(admin, f"{path}/parked", limit=5, startTime=began_ms + 1_000, endTime=began_ms + 1_999)

    assert [record["id"]["id"] for record in page["data"]] == ids[1:2]


async def test_offset_that_is_no_parked_message_of_the_company_is_refused(app, admin, path):
    _, other = await app.partner(admin, "p@p.example")
    (foreign,) = await parked(app, other.company_id, 1)
    found = [
        (await app.refused(admin, "GET", f"{path}/parked", limit=2, idOffset=each))[:2] for each in (foreign, UNKNOWN)
    ]

    assert found == [(400, 31), (400, 31)]


async def still_parked(app, admin, path):
    page = await app.get(admin, f"{path}/parked", limit=1000, ascOrder="true")
    return [record["id"]["id"] for record in page["data"]]


async def test_messages_that_are_named_are_sent_again_behind_what_waits(app, admin, path):
    ids = await parked(app, admin.company_id, 3)
    (before,) = await waiting(app, admin.company_id, 1)
    app.signals.told.clear()
    answer = await app.post(admin, f"{path}/resend", {"ids": [ids[1].upper(), UNKNOWN]})
    statement = select(push_outbox).where(push_outbox.c.parked_ms.is_(None)).order_by(push_outbox.c.no)
    rows = await app.store.read(lambda tx: tx.all(statement))
    told = [subject for subject, _ in app.signals.told]
    left = await still_parked(app, admin, path)

    assert answer == {"count": 1, "released": 1}
    assert [row.id for row in rows] == [before, ids[1]]
    assert (rows[1].attempts, rows[1].last_error) == (0, None)
    assert left == [ids[0], ids[2]]
    assert told == [observe.SIGNAL_COMPANY_CHANGED, observe.SIGNAL_PUSH_DUE, observe.SIGNAL_RESEND_DUE]


async def test_waiting_messages_that_a_request_releases_are_counted_apart(app, admin, path):
    await waiting(app, admin.company_id, 449)
    none = await app.post(admin, f"{path}/resend", {})
    await parked(app, admin.company_id, 2)

    assert none == {"count": 0, "released": 449}
    assert await app.post(admin, f"{path}/resend", {}) == {"count": 2, "released": 449}
    assert await app.post(admin, f"{path}/resend", {}) == {"count": 0, "released": 451}


async def test_messages_about_a_sensor_or_all_are_sent_again(app, admin, path):
    ids = await parked(app, admin.company_id, 6)
    of_sensor = await app.post(admin, f"{path}/resend", {"sensorId": SENSORS[1]})
    left = await still_parked(app, admin, path)
    rest_of_them, none = await app.post(admin, f"{path}/resend", {}), await still_parked(app, admin, path)

    assert (of_sensor, rest_of_them, none) == ({"count": 2, "released": 0}, {"count": 4, "released": 2}, [])
    assert left == [each for place, each in enumerate(ids) if place % 3 != 1]


async def test_more_messages_than_one_transaction_takes_are_all_sent_again(app, admin, path):
    ids = await parked(app, admin.company_id, 1_203)
    answer = await app.post(admin, f"{path}/resend", {})
    rows = await app.store.read(lambda tx: tx.all(select(push_outbox.c.id).order_by(push_outbox.c.no)))

    assert answer == {"count": 1_203, "released": 0}
    assert [row.id for row in rows] == ids


async def until_done(app):
    """Go on with what requests left over until nothing is; how many rounds that took."""
    worker = resender.Resender(store=app.store, signals=app.signals, clock=lambda: app.now_ms, ids=app.ids)
    rounds = 0
    while await worker.go_on():
        rounds += 1
    return rounds


@pytest.mark.parametrize("make", [parked, unconfirmed])
@pytest.mark.parametrize(("count", "at_once"), [(3, 3), (4, 4), (5, 4), (11, 4)])
async def test_request_puts_a_bounded_number_in_line_and_the_rest_follows(
    app, admin, path, monkeypatch, make, count, at_once
):
    monkeypatch.setattr(resender, "STEP", 2)
    monkeypatch.setattr(resender, "AT_ONCE", 4)
    body = {"unconfirmed": make is unconfirmed}

    _, other = await app.partner(admin, "p@p.example")
    ids = await make(app, admin.company_id, count)
    await make(app, other.company_id, 1)
    answer = await app.post(admin, f"{path}/resend", body)
    first = (await app.get(admin, path))["waiting"]
    await until_done(app)
    of_own = select(push_outbox.c.id).where(push_outbox.c.company_id == admin.company_id)
    rows = await app.store.read(lambda tx: tx.all(of_own.order_by(push_outbox.c.no)))
    left = await app.store.read(lambda tx: tx.all(select(push_resend)))
    counts = await app.get(admin, path), await app.get(other, f"/company/{other.company_id}/push")

    assert (answer["count"], first) == (count, at_once)
    assert ([row.id for row in rows], left) == (ids, [])
    assert [each[make.__name__] for each in counts] == [0, 1]


async def test_request_begins_no_step_after_its_time_but_ends_what_is_named(app, admin, path, monkeypatch):
    monkeypatch.setattr(resender, "STEP", 1)
    monkeypatch.setattr(resender, "AT_ONCE_S", -1.0)

    ids = await parked(app, admin.company_id, 3)
    named = await app.post(admin, f"{path}/resend", {"ids": ids[:2]})
    left = await still_parked(app, admin, path)
    everything = await app.post(admin, f"{path}/resend", {})
    still = await still_parked(app, admin, path)
    await until_done(app)

    assert (named, left) == ({"count": 2, "released": 0}, ids[2:])
    assert (everything, still) == ({"count": 1, "released": 2}, ids[2:])
    assert await still_parked(app, admin, path) == []


async def test_rest_is_what_was_asked_for_and_not_what_was_given_up_later(app, admin, path, monkeypatch):
    monkeypatch.setattr(resender, "AT_ONCE_S", -1.0)

    ids = await parked(app, admin.company_id, 6)
    for _ in range(2):
        await app.post(admin, f"{path}/resend", {"sensorId": SENSORS[1]})
    asked = await app.store.read(lambda tx: tx.all(select(push_resend.c.sensor_id)))
    app.now_ms += 1
    later = await parked(app, admin.company_id, 3)
    rounds = await until_done(app)
    told = [subject for subject, _ in app.signals.told].count(observe.SIGNAL_PUSH_DUE)
    asked, still = [row.sensor_id for row in asked], await still_parked(app, admin, path)

    # Asked for twice, kept once: one round puts it in line, another finds nothing left.
    assert (asked, rounds, told) == ([SENSORS[1]], 2, 3)
    assert still == [each for place, each in enumerate(ids) if place % 3 != 1] + later


async def test_rest_goes_with_its_company(app, admin, monkeypatch):
    monkeypatch.setattr(resender, "AT_ONCE_S", -1.0)

    record, partner = await app.partner(admin, "p@p.example")
    await parked(app, partner.company_id, 1)
    await app.post(partner, f"/company/{partner.company_id}/push/resend", {})
    before = await app.store.read(lambda tx: tx.all(select(push_resend)))
    await app.delete(admin, f"/company/{record['id']['id']}")

    assert (len(before), await app.store.read(lambda tx: tx.all(select(push_resend)))) == (1, [])


async def test_messages_of_another_company_are_not_sent_again(app, admin, path):
    _, other = await app.partner(admin, "p@p.example")
    foreign = await parked(app, other.company_id, 2)
    named = await app.post(admin, f"{path}/resend", {"ids": foreign})
    everything = await app.post(admin, f"{path}/resend", {})
    found = named, everything, len(await still_parked(app, other, f"/company/{other.company_id}/push"))

    assert found == ({"count": 0, "released": 0}, {"count": 0, "released": 0}, 2)


@pytest.mark.parametrize(
    "body", [{"ids": ["x"]}, {"ids": "x"}, {"ids": [UNKNOWN] * 1_001}, {"sensorId": "x"}, {"ids": [1]}, []]
)
async def test_request_to_send_again_that_is_wrong_is_refused(app, admin, path, body):
    await parked(app, admin.company_id, 1)

    assert (await app.refused(admin, "POST", f"{path}/resend", body))[:2] == (400, 31)
    assert len(await still_parked(app, admin, path)) == 1


@pytest.mark.parametrize("count", [0, 1, 1_000])
async def test_as_many_ids_as_allowed_may_be_named(app, admin, path, count):
    assert await app.post(admin, f"{path}/resend", {"ids": [UNKNOWN] * count}) == {"count": 0, "released": 0}


async def test_secret_is_made_once_and_shown_to_the_company_alone(app, admin, path):
    first, second = await app.get(admin, f"{path}/secret"), await app.get(admin, f"{path}/secret")
    _, partner = await app.partner(admin, "p@p.example")
    director = await app.person(admin, Authority.DIRECTOR, "Dir")
    refused = [(await app.refused(who, "GET", f"{path}/secret"))[0] for who in (partner, director, None)]

    assert first == second
    assert (first["createdTime"], first["formerUntil"]) == (app.now_ms, None)
    assert len(base64.b64decode(first["secret"].removeprefix("whsec_"), validate=True)) == 32
    assert refused == [403, 403, 401]


async def test_rotated_secret_leaves_the_former_for_a_day(app, admin, path):
    first = await app.get(admin, f"{path}/secret")
    app.signals.told.clear()
    rotated = await app.post(admin, f"{path}/secret")
    told = list(app.signals.told)
    kept = await app.store.read(lambda tx: push_queue.addresses(tx, admin.company_id))
    shown = await app.get(admin, f"{path}/secret")
    rotated_ms = app.now_ms
    app.now_ms += 86_400_000
    again = await app.login(admin.user_id, "admin@ace.example", Authority.COMPANY_ADMIN, admin.company_id)
    company_id, later = admin.company_id, await app.get(again, f"{path}/secret")

    assert rotated == shown
    assert rotated["secret"] != first["secret"]
    assert rotated["formerUntil"] == rotated_ms + 86_400_000
    assert "whsec_" + base64.b64encode(kept.secret.former).decode() == first["secret"]
    assert told == [(observe.SIGNAL_COMPANY_CHANGED, company_id)]
    assert (later["secret"], later["formerUntil"]) == (rotated["secret"], None)


async def test_company_that_is_deleted_takes_its_messages_and_its_secret_with_it(app, admin):
    _, partner = await app.partner(admin, "p@p.example", **HOST)
    await parked(app, partner.company_id, 1)
    await waiting(app, partner.company_id, 1)
    await app.get(partner, f"/company/{partner.company_id}/push/secret")
    await app.delete(admin, f"/company/{partner.company_id}")
    found = [await app.store.read(lambda tx, t=table: len(tx.all(select(t)))) for table in (push_outbox, push_secret)]

    assert found == [0, 0]
