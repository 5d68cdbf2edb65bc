"""The streams of live maps: who gets what, from where a stream continues, and how one ends."""

import asyncio
import json
import math

import pytest
from sqlalchemy import insert
from tests.support import delegating, fleet_rows, reaching, rest, waits

from tripline import observe
from tripline.domain.shares import Holder, Shares
from tripline.services.accounts.tokens import TokenUnreadable
from tripline.services.live import feed as feeds
from tripline.services.live.audience import BEAT_MS, BEHIND_BYTES, BEHIND_MS, End
from tripline.services.live.feed import Feed, ManyStreams
from tripline.services.shares import Places
from tripline.store import live_vehicles, positions, tables

NOW = rest.NOW_MS
LATER_MS = feeds.CHECK_MS


class Signed:
    """An account whose session may end."""

    def __init__(self, actor):
        self.actor, self.over = actor, False

    def __call__(self, _tx):
        if self.over:
            raise TokenUnreadable("session_ended")
        return self.actor


def opened(feed, login, cursor=None, session=None):
    holder = Holder(login.company_id or "", login.company_id or "", login.user_id)
    recheck = session or Signed(login.actor)
    return feed.join(actor=login.actor, holder=holder, cursor=cursor, recheck=recheck)


def events(stream):
    """The unsent events, taken out: name and data; the id of the last one."""
    text = b"".join(event for _, event in stream.pending).decode()
    stream.pending.clear()
    found, last = [], None
    for block in filter(None, text.split("\n\n")):
        lines = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append((lines["event"], json.loads(lines["data"])))
        last = lines.get("id", last)
    return found, last


def news(stream):
    """As `events`: ids of named vehicles, ids that are gone, ids with their latitudes; without the beats."""
    found, _ = events(stream)
    named = [each[0] for name, data in found if name == "vehicles" for each in data["vehicles"]]
    gone = [each for name, data in found if name == "vehicles" for each in data["gone"]]
    moved = [(each[0], each[2]) for name, data in found if name == "positions" for each in data]
    return named, gone, moved


async def mounted(app, owner, number):
    vehicle = await delegating.new_vehicle(app, owner, number)
    sensor = app.ids.next(now_ms=NOW)
    row = fleet_rows.sensor(sensor, owner.company_id, service_type="ace", vehicle_id=vehicle, serial_no=number)
    await app.store.write(lambda tx: reaching.run(tx, insert(tables.sensor), row))
    return vehicle, sensor


async def move(app, vehicle, sensor, at=NOW, lat=35.0):
    given = (vehicle, at, lat, 129.0, 50.0, 90.0, False, None, sensor)
    await app.store.write(lambda tx: positions.write(tx, given), locked=True)


async def walked(app, feed, *, after_ms=LATER_MS):
    app.now_ms += after_ms
    await feed.walk()


async def test_stream_begins_with_every_vehicle_and_goes_on_with_changes(app: rest.Rest):
    _, admin = await app.operator("ace", name="Ace")
    feed = app.contexts.feed
    first, second = [await mounted(app, admin, number) for number in ("12가3456", "12가3457")]
    await move(app, *first)
    stream = opened(feed, admin)
    await walked(app, feed)
    whole, cursor = events(stream)
    await walked(app, feed)
    quiet = events(stream)[0]
    await move(app, *first, at=NOW + 1, lat=36.0)
    await move(app, *second)
    await walked(app, feed)
    first, second, changed = first[0], second[0], news(stream)

    vehicle = [first, "12가3456", "Ace", None, None, None]

    assert whole == [
        ("vehicles", {"whole": True, "vehicles": [vehicle], "gone": [], "cut": False}),
        ("positions", [[first, NOW, 35.0, 129.0, 50.0, 90.0, False]]),
        ("beat", {"now": NOW + LATER_MS}),
    ]  # fmt: skip
    assert cursor.partition(".")[0] != "0"
    assert [name for name, _ in quiet] == ["beat"]
    assert (changed[0], changed[1], sorted(changed[2])) == ([second], [], sorted([(first, 36.0), (second, 35.0)]))


async def test_stream_without_news_gets_a_beat_every_two_seconds(app: rest.Rest, admin):
    feed = app.contexts.feed
    stream = opened(feed, admin)
    beats = []
    for _ in range(5):
        await walked(app, feed, after_ms=BEAT_MS // 2 + 1)
        beats.append([name for name, _ in events(stream)[0] if name == "beat"])

    assert beats == [["beat"], [], ["beat"], [], ["beat"]]


BEGAN = 100.0


@pytest.mark.parametrize(
    ("written", "due"),
    [
        (-math.inf, BEGAN + feeds.EVERY_S),
        (BEGAN - 0.1, BEGAN + feeds.EVERY_S),
        (BEGAN + 0.2, BEGAN + feeds.APART_S),
        (BEGAN + 1.2, BEGAN + 1.2 + feeds.QUIET_S),
        (BEGAN + 1.45, BEGAN + feeds.MOST_S),
    ],
    ids=["nothing written", "before the walk", "a lone write", "a round ends", "a round goes on"],
)
def test_walk_follows_a_round_of_writing(written, due):
    assert feeds.next_walk_s(BEGAN, written) == pytest.approx(due)


async def test_running_feed_walks_soon_after_a_write_and_not_without_streams(app: rest.Rest, monkeypatch):
    monkeypatch.setattr(feeds, "EVERY_S", 60.0)
    monkeypatch.setattr(feeds, "APART_S", 0.0)

    _, admin = await app.operator("ace")
    vehicle, sensor = await mounted(app, admin, "1")
    feed, walks = app.contexts.feed, []
    walk = feed.walk

    async def counted():
        walks.append(None)
        await walk()

    monkeypatch.setattr(feed, "walk", counted)
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(feed.run())
        app.signals.notify(observe.SIGNAL_VEHICLES_MOVED, vehicle)
        await asyncio.sleep(0)
        alone = len(walks)
        stream = opened(feed, admin)
        await waits.until(lambda: stream.pending)
        events(stream)
        await move(app, vehicle, sensor)
        app.signals.notify(observe.SIGNAL_VEHICLES_MOVED, vehicle)
        await waits.until(lambda: stream.pending)
        running.cancel()
    (named, _, moved) = news(stream)

    assert (alone, named, moved) == (0, [vehicle], [(vehicle, 35.0)])


async def test_delegated_vehicle_comes_with_its_position_and_leaves(app: rest.Rest, of):
    vehicle, sensor = await mounted(app, of.owner, "12가3456")
    await move(app, vehicle, sensor)
    await delegating.register(app, of.owner, of.borrower)
    feed = app.contexts.feed
    streams = [opened(feed, each) for each in (of.borrower, of.owner, of.operator, of.below, of.other)]
    await walked(app, feed)
    before = [news(each) for each in streams]
    await delegating.delegate(app, of.owner, of.borrower, vehicle)
    await walked(app, feed)
    came = news(streams[0])
    await delegating.take_back(app, of.owner, of.borrower, vehicle)
    await walked(app, feed)
    went = [news(each) for each in streams]
    await move(app, vehicle, sensor, at=NOW + 1, lat=36.0)
    await walked(app, feed)
    moved = [news(each)[2] for each in streams]

    there, nothing = ([vehicle], [], [(vehicle, 35.0)]), ([], [], [])
    assert before == [nothing, there, there, nothing, nothing]
    assert came == there
    assert went == [([], [vehicle], []), nothing, nothing, nothing, nothing]
    assert moved == [[], [(vehicle, 36.0)], [(vehicle, 36.0)], [], []]


@pytest.mark.parametrize("few", [0, feeds.FEW])
async def test_each_reader_gets_only_vehicles_within_reach_however_they_are_read(app: rest.Rest, monkeypatch, few):
    monkeypatch.setattr(feeds, "FEW", few)

    _, ace = await app.operator("ace")
    _, other = await app.operator("other")
    feed = app.contexts.feed
    fleet = [await mounted(app, each, number) for each, number in ((ace, "1"), (other, "2"))]
    for each in fleet:
        await move(app, *each)
    streams = [opened(feed, each) for each in (ace, other, ace)]
    await walked(app, feed)
    for each in streams:
        events(each)
    for each in fleet:
        await move(app, *each, at=NOW + 1, lat=36.0)
    await walked(app, feed)
    (mine, theirs), moved = [each[0] for each in fleet], [news(each)[2] for each in streams]

    assert moved == [[(mine, 36.0)], [(theirs, 36.0)], [(mine, 36.0)]]


async def test_stream_continues_from_its_cursor_without_loss(app: rest.Rest, admin):
    feed = app.contexts.feed
    first, second = [await mounted(app, admin, number) for number in ("1", "2")]
    for each in (first, second):
        await move(app, *each)
    stream = opened(feed, admin)
    await walked(app, feed)
    _, cursor = events(stream)
    feed.leave(stream)
    await move(app, *second, at=NOW + 1, lat=36.0)
    again = opened(feed, admin, cursor)
    await walked(app, feed)
    missed, _ = events(again)
    third = await mounted(app, admin, "3")
    await move(app, *third)
    await walked(app, feed)
    after = opened(feed, admin, cursor)
    await walked(app, feed)
    second, fleet, named = second[0], sorted([first[0], second[0], third[0]]), news(after)[0]

    assert [(name, data) for name, data in missed if name != "beat"] == [
        ("positions", [[second, NOW + 1, 36.0, 129.0, 50.0, 90.0, False]])
    ]
    assert sorted(named) == fleet  # other vehicles than the reader knows


@pytest.mark.parametrize("cursor", ["x", "9", "9.", ".a", "-1.a", "999999999999999.a", "9" * 40 + ".a"])
async def test_unknown_cursor_begins_with_everything(app: rest.Rest, admin, cursor):
    feed = app.contexts.feed
    vehicle, sensor = await mounted(app, admin, "1")
    await move(app, vehicle, sensor)
    stream = opened(feed, admin, cursor)
    await walked(app, feed)

    assert news(stream) == ([vehicle], [], [(vehicle, 35.0)])


async def test_stream_ends_with_the_session_and_with_a_change_of_the_account(app: rest.Rest, admin):
    director = await delegating.director(app, admin, "dora")
    feed = app.contexts.feed
    sessions = [Signed(admin.actor) for _ in range(3)]
    streams = [opened(feed, admin, session=each) for each in sessions]
    await walked(app, feed)
    sessions[0].over = True
    sessions[1].actor = director.actor
    await walked(app, feed, after_ms=1_000)
    early = [each.ended for each in streams]
    await walked(app, feed, after_ms=1_000)

    assert early == [None, None, None]
    assert [each.ended for each in streams] == [End.SIGNED_OUT, End.CHANGED, None]


async def last_of(stream):
    return [piece async for piece in stream.pieces()][-1]


async def test_last_event_says_why_and_a_stopping_server_ends_later_streams_at_once(app: rest.Rest, admin):
    feed = app.contexts.feed
    stream = opened(feed, admin)
    feed.stop()

    assert [await last_of(each) for each in (stream, opened(feed, admin))] == [
        b'event: end\ndata: {"reason":"stopping"}\n\n'
    ] * 2


async def test_account_has_as_many_streams_as_it_may_and_others_make_room(app: rest.Rest, admin):
    _, other = await app.operator("other")
    places = Places(Shares(total=3, operator=3, company=3, account=3))
    feed = Feed(store=app.store, clock=lambda: NOW, signals=app.signals, places=places)
    mine = [opened(feed, admin) for _ in range(3)]
    with pytest.raises(ManyStreams):
        opened(feed, admin)
    theirs = opened(feed, other)
    ended = [each.ended for each in mine]
    feed.leave(mine[0])
    feed.leave(mine[1])
    opened(feed, admin)

    assert (ended, theirs.ended) == ([End.CROWDED, None, None], None)


@pytest.mark.parametrize(("size", "after_ms"), [(BEHIND_BYTES + 1, 0), (1, BEHIND_MS + 1)])
async def test_reader_that_does_not_read_is_dropped_and_holds_nothing(app: rest.Rest, admin, size, after_ms):
    stream = opened(app.contexts.feed, admin)
    stream.put(b"x", NOW)
    before = stream.ended
    stream.put(b"x" * size, NOW + after_ms)

    assert (before, stream.ended, stream.pending_bytes, len(stream.pending)) == (None, End.BEHIND, 0, 0)


async def test_streams_with_most_unsent_bytes_are_dropped_at_the_bound_of_all(app: rest.Rest, admin, monkeypatch):
    feed = app.contexts.feed
    large, small = opened(feed, admin), opened(feed, admin)
    await walked(app, feed)
    for each in (large, small):
        events(each)
        each.pending_bytes = 0
    monkeypatch.setattr(feeds, "BYTES", 100)
    large.put(b"x" * 90, NOW)
    small.put(b"x" * 20, NOW)
    await walked(app, feed, after_ms=0)

    assert (large.ended, small.ended) == (End.BEHIND, None)


async def test_most_vehicles_of_a_stream_are_the_first_by_number(app: rest.Rest, monkeypatch):
    monkeypatch.setattr(feeds, "VEHICLES", 2)

    _, admin = await app.operator("ace")
    feed = app.contexts.feed
    fleet = [await mounted(app, admin, number) for number in ("3", "1", "2")]
    for each in fleet:
        await move(app, *each)
    stream = opened(feed, admin)
    await walked(app, feed)
    found, _ = events(stream)

    assert ([each[1] for each in found[0][1]["vehicles"]], found[0][1]["cut"]) == (["1", "2"], True)


async def test_names_of_people_beyond_reach_are_left_out(app: rest.Rest, of):
    vehicle, sensor = await mounted(app, of.owner, "1")
    await move(app, vehicle, sensor)
    director = await delegating.director(app, of.owner, "dora")
    await app.store.write(
        lambda tx: tx.run(
            tables.vehicle.update().values(director_id=director.user_id).where(tables.vehicle.c.id == vehicle)
        )
    )
    await delegating.register(app, of.owner, of.borrower)
    await delegating.delegate(app, of.owner, of.borrower, vehicle)
    streams = [opened(app.contexts.feed, each) for each in (of.owner, of.borrower)]
    await walked(app, app.contexts.feed)
    mine, theirs = [live_vehicles.LiveVehicle(*events(each)[0][0][1]["vehicles"][0]).director for each in streams]

    assert (mine is not None, theirs) == (True, None)
