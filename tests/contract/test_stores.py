"""Every store: transactions, isolation, works that run again, hot and bulk statements, unique rules."""

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest
from sqlalchemy import bindparam, func, insert, select, text, update
from tests.support import databases, stores

from tripline.domain.refusals import Kind, Refusal
from tripline.ports.outages import Outage
from tripline.store.bulk import COPIED_FROM, LARGEST, STAGED_FROM, Bulk, Rows, staged
from tripline.store.database import uniqueness
from tripline.store.database.postgres import PostgresStore
from tripline.store.database.sqlite import SqliteStore
from tripline.store.tables import account, device_connection, reach, secret, sensor_attribute, vehicle
from tripline.store.transactions import Crew, Hot, ReadTooLong, Store

pytestmark = pytest.mark.parametrize("adapter", ["sqlite", "postgresql"])

Open = Callable[..., Store]


class Taken(Refusal):
    code = "test.taken"
    kind = Kind.CONFLICT


@pytest.fixture
async def opener(adapter: str, tmp_path) -> AsyncIterator[Open]:
    """Opens stores over one empty database, as so many processes would."""
    opened = []

    def store(**how: Any) -> Store:
        opened.append(made(**how))
        return opened[-1]

    with contextlib.ExitStack() as stack:
        if adapter == "sqlite":
            made = partial(SqliteStore, stores.fresh_file(tmp_path))
        else:
            made = partial(PostgresStore, stack.enter_context(databases.fresh()).url)
        yield store
        for each in opened:
            await each.close()


def keep(name: str, value: bytes) -> Callable[[Any], int]:
    return lambda tx: tx.run(insert(secret).values(name=name, value=value))


def kept(tx: Any) -> list[tuple[str, bytes]]:
    return [(row.name, bytes(row.value)) for row in tx.all(select(secret).order_by(secret.c.name))]


async def test_what_a_work_returned_is_seen_by_every_later_reader(opener):
    one, other = opener(), opener()
    answer = await one.write(lambda tx: (keep("a", b"1")(tx), kept(tx))[1])

    assert (answer, await one.read(kept), await one.read_short(kept), await other.read(kept)) == ([("a", b"1")],) * 4


@pytest.mark.parametrize("locked", [False, True])
async def test_work_that_raises_leaves_nothing_and_the_next_one_goes_on(opener, locked):
    store = opener()

    def fail(tx):
        keep("a", b"1")(tx)
        raise Taken("no")

    with pytest.raises(Taken):
        await store.write(fail, locked=locked)
    await store.write(keep("b", b"2"), locked=locked)

    assert await store.read(kept) == [("b", b"2")]


async def test_read_sees_one_moment_whatever_is_committed_meanwhile(opener):
    one, other = opener(), opener()
    loop = asyncio.get_running_loop()

    def twice(tx):
        before = kept(tx)
        asyncio.run_coroutine_threadsafe(other.write(keep("a", b"1")), loop).result(20)
        return before, kept(tx)

    assert (await one.read(twice), await one.read(kept)) == (([], []), [("a", b"1")])


END_OTHERS = (
    "DO $$ BEGIN PERFORM pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid(); END $$"
)


async def test_read_that_needs_no_one_moment_outlives_a_connection_that_broke_meanwhile(opener):
    one, other = opener(), opener()

    def slowly(tx):
        time.sleep(0.05)  # so that every reader has a connection
        return kept(tx)

    await other.write(keep("a", b"1"))
    before = await asyncio.gather(*(one.read(slowly, consistent=False) for _ in range(4)))
    if other.shared:
        await other.write(lambda tx: tx.run_sql(END_OTHERS, ()))
    await other.write(keep("b", b"2"))
    after = await asyncio.gather(*(one.read_short(slowly, consistent=False) for _ in range(4)))

    assert (before, after) == ([[("a", b"1")]] * 4, [[("a", b"1"), ("b", b"2")]] * 4)


async def test_read_that_needs_no_one_moment_fails_like_any_other_and_the_next_one_goes_on(opener):
    store = opener()

    def fail(tx):
        kept(tx)
        raise Taken("no")

    with pytest.raises(Taken):
        await store.read(fail, consistent=False)

    assert await store.read(kept, consistent=False) == []


_KEPT = Hot(
    select(secret.c.name, secret.c.value)
    .where(secret.c.name >= bindparam("first"), secret.c.name != "c")
    .order_by(secret.c.name)
    .limit(bindparam("limit")),
    *("limit", "first"),
)


async def test_what_is_asked_takes_its_values_by_position_and_sees_what_was_committed(opener):
    one, other = opener(), opener()
    empty = await one.ask(_KEPT, 9, "")
    for name in "abcd":
        await other.write(keep(name, name.encode()))
    # More at once than a store has connections, and one that is larger than a short whole number.
    asked = ((2, ""), (2, "b"), (2**40, ""), (1, "d"), (9, "e")) * 4
    found = await asyncio.gather(*(one.ask(_KEPT, *values) for values in asked))

    assert empty == []
    assert [["".join(name for name, _ in rows)] for rows in found] == [["ab"], ["bd"], ["abd"], ["d"], [""]] * 4
    assert [(name, bytes(value)) for name, value in found[1]] == [("b", b"b"), ("d", b"d")]


async def test_what_is_asked_outlives_a_connection_that_broke_meanwhile(opener):
    one, other = opener(), opener()
    await other.write(keep("a", b"1"))
    before = await asyncio.gather(*(one.ask(_KEPT, 9, "") for _ in range(4)))
    if other.shared:
        await other.write(lambda tx: tx.run_sql(END_OTHERS, ()))
    await other.write(keep("b", b"2"))
    found = []
    for _ in range(2):
        found.append(await asyncio.gather(*(one.ask(_KEPT, 9, "") for _ in range(4))))
        await asyncio.sleep(0.05)  # by now the event loop has heard of it

    assert [len(rows) for rows in before] == [1] * 4
    assert [[len(rows) for rows in each] for each in found] == [[2] * 4] * 2


async def test_what_cannot_be_asked_fails_alone_and_is_no_outage(opener):
    wrong = Hot(select(secret.c.name).where(func.no_such_function(bindparam("x")) == 1), "x")

    store = opener()
    await store.write(keep("a", b"1"))
    asked = await asyncio.gather(
        *(store.ask(each, *values) for each, values in ((_KEPT, (9, "")), (wrong, ("x",)), (_KEPT, (9, "")))),
        return_exceptions=True,
    )
    (first, refused, last), met = asked, store.troubles.present

    assert len(first) == len(last) == 1
    assert isinstance(refused, Exception)
    assert not isinstance(refused, Outage)
    assert met is None


async def test_what_is_read_and_then_written_holds_among_several_processes(opener):
    opened = [opener() for _ in range(3)]
    await opened[0].write(keep("count", b"0"))

    def more(tx):
        (row,) = tx.all(select(secret.c.value).where(secret.c.name == "count"))
        tx.run(update(secret).where(secret.c.name == "count").values(value=b"%d" % (int(row.value) + 1)))

    await asyncio.gather(*(store.write(more) for store in opened for _ in range(5)))

    assert await opened[0].read(kept) == [("count", b"15")]


async def test_rule_over_rows_that_are_not_there_yet_holds_among_several_processes(opener):
    opened = [opener() for _ in range(4)]

    def only_one(name):
        def work(tx):
            if tx.all(select(secret.c.name)):
                raise Taken("there is one")
            keep(name, b"")(tx)

        return work

    works = (store.write(only_one(f"{number}")) for number, store in enumerate(opened))
    answers = await asyncio.gather(*works, return_exceptions=True)

    assert sorted(type(answer).__name__ for answer in answers) == ["NoneType", "Taken", "Taken", "Taken"]
    assert len(await opened[0].read(kept)) == 1


async def test_broken_rule_of_another_ones_change_is_looked_at_again(opener):
    """Made once by whoever comes first, though nobody sees the other's row when he looks."""
    opened = [opener() for _ in range(4)]

    def made_once(value):
        def work(tx):
            found = kept(tx)
            if not found:
                keep("a", value)(tx)
            return kept(tx)

        return work

    answers = await asyncio.gather(*(store.write(made_once(b"%d" % n)) for n, store in enumerate(opened)))

    assert len({tuple(answer) for answer in answers}) == 1


async def test_hot_statement_takes_its_values_by_position_and_gives_rows(opener):
    named = Hot(
        select(secret.c.value)
        .where(secret.c.name == bindparam("key"), secret.c.name != "other")
        .limit(bindparam("most")),
        "most",
        "key",
    )
    change = Hot(update(secret).where(secret.c.name == bindparam("key")).values(value=bindparam("now")), "now", "key")

    store = opener()
    await store.write(keep("a", b"1"))
    answer = await store.write(lambda tx: tx.hot(change, b"2", "a"))

    assert answer == []
    assert [bytes(row[0]) for row in await store.read(lambda tx: tx.hot(named, 1, "a"))] == [b"2"]


@pytest.mark.parametrize("count", [0, 1, COPIED_FROM - 1, COPIED_FROM, COPIED_FROM + 1, 2 * LARGEST + 3])
async def test_bulk_keeps_every_row(opener, count):
    rows = Bulk(sensor_attribute, "sensor_id", "name", "updated_ms", "payload")
    values = [value for number in range(count) for value in (f"s{number:05d}", "n", number, b"\0%d" % number)]

    store = opener()
    touched = await store.write(lambda tx: rows.insert(tx, values))
    found = await store.read(lambda tx: tx.all(select(sensor_attribute).order_by(sensor_attribute.c.sensor_id)))

    assert touched == count
    assert [value for row in found for value in row] == values


async def test_bulk_with_a_conflict_rule_changes_rows_that_are_there(opener):
    rows = Bulk(
        sensor_attribute,
        *("sensor_id", "name", "updated_ms", "payload"),
        on_conflict="ON CONFLICT (sensor_id, name) DO UPDATE SET updated_ms = excluded.updated_ms,"
        " payload = excluded.payload WHERE excluded.updated_ms >= sensor_attribute.updated_ms",
    )

    store = opener()
    await store.write(lambda tx: rows.insert(tx, ["a", "n", 5, b"5", "b", "n", 5, b"5"]))
    touched = await store.write(lambda tx: rows.insert(tx, ["a", "n", 4, b"4", "b", "n", 6, b"6", "c", "n", 1, b""]))
    found = await store.read(lambda tx: tx.all(select(sensor_attribute).order_by(sensor_attribute.c.sensor_id)))

    assert (touched, [(row.sensor_id, row.updated_ms) for row in found]) == (2, [("a", 5), ("b", 6), ("c", 1)])


def _account(number: int, login: str) -> dict[str, Any]:
    return {
        "id": f"{number}",
        "created_ms": 0,
        "authority": "DRIVER",
        "name": "n",
        "email": "e",
        "login": login,
        "password_hash": "",
        "password_updated_ms": 0,
        "enabled": True,
    }


@pytest.mark.parametrize("fails", [False, True])
async def test_alone_without_a_write_keeps_nobody_out_afterwards(opener, fails):
    one, other = opener(), opener()
    with contextlib.suppress(Taken):
        async with one.alone():
            if fails:
                raise Taken("no")
    await other.write(keep("a", b"1"))
    await one.write(keep("b", b"2"))

    assert [name for name, _ in await other.read(kept)] == ["a", "b"]


async def test_row_that_repeats_a_unique_value_is_refused_as_told_and_another_trouble_is_not(opener):
    taken = Taken("taken")

    store = opener()

    def add(number, login):
        def work(tx):
            with uniqueness.refusing(
                ((vehicle.c.service_type, vehicle.c.vehicle_no), Taken("other")), ((account.c.login,), taken)
            ):
                tx.run(insert(account).values(**_account(number, login)))

        return work

    await store.write(add(1, "kim"))
    with pytest.raises(Taken) as repeated:
        await store.write(add(2, "kim"))
    with pytest.raises(Exception) as same_key:
        await store.write(add(1, "lee"))

    assert repeated.value is taken
    assert isinstance(same_key.value, Refusal) is False
    assert type(same_key.value).__name__ == "IntegrityError"


async def test_transaction_goes_on_after_a_refusal_that_is_undone(opener):
    store = opener()

    def work(tx):
        keep("a", b"1")(tx)
        for value in (b"2", b"3"):
            taken = uniqueness.refusing(((secret.c.name,), Taken("taken")))
            with contextlib.suppress(Taken), uniqueness.undone_if_refused(tx), taken:
                if value == b"2":
                    keep("a", value)(tx)
                keep("b", value)(tx)
        return kept(tx)

    found = [("a", b"1"), ("b", b"3")]

    assert (await store.write(work), await store.read(kept)) == (found, found)


@pytest.mark.parametrize("text", ["", "x" * 255, "x" * 256, "가" * 5_000, "a'b\"c\\d%s:e?f", "\U0001f697"])
async def test_text_comes_back_as_it_was(opener, text):
    store = opener()
    await store.write(lambda tx: tx.run(insert(account).values(**_account(1, "kim") | {"name": text})))

    assert (await store.read(lambda tx: tx.all(select(account.c.name))))[0][0] == text


@pytest.mark.parametrize("name", ["kim\0", "\0", "\0kim"])
async def test_name_that_no_row_can_have_is_not_found(opener, name):
    by_name = select(account.c.id).where(account.c.login == bindparam("key"))
    hot = Hot(by_name, "key")

    store = opener()
    await store.write(lambda tx: tx.run(insert(account).values(**_account(1, "kim"))))
    among = select(account.c.id).where(account.c.login.in_(["lee", name]))

    assert await store.read(lambda tx: (tx.hot(hot, name), tx.all(by_name, {"key": name}), tx.all(among))) == (
        [],
        [],
        [],
    )


async def test_texts_are_compared_by_code_points_and_lowered_in_every_script(opener):
    names = ["b", "B", "a", "É", "é", "가", "Z", "_"]

    store = opener()

    def work(tx):
        for number, name in enumerate(names):
            tx.run(insert(account).values(**_account(number, name)))
        return [row.login for row in tx.all(select(account.c.login).order_by(account.c.login))]

    assert await store.write(work) == sorted(names)


@pytest.mark.parametrize("number", [-(2**63), -1, 0, 2**31, 2**63 - 1])
async def test_whole_numbers_of_64_bits_come_back_as_they_were(opener, number):
    rows = Bulk(sensor_attribute, "sensor_id", "name", "updated_ms", "payload")

    store = opener()
    await store.write(lambda tx: rows.insert(tx, ["a", "n", number, b""]))

    assert (await store.read(lambda tx: tx.all(select(sensor_attribute.c.updated_ms))))[0][0] == number


async def test_rows_touched_are_counted_also_for_many_at_once(opener):
    store = opener()

    def work(tx):
        for number in range(3):
            tx.run(
                insert(device_connection).values(
                    sensor_id=f"{number}", connected=True, changed_ms=0, seen_ms=0, told=False
                )
            )
        end = update(device_connection).where(device_connection.c.connected).values(connected=False)
        return tx.run(end), tx.run(end)

    counted = await store.write(work)

    assert counted == (3, 0)
    assert await store.read(lambda tx: tx.all(select(func.count()).select_from(device_connection))[0][0]) == 3


async def test_store_that_is_away_is_an_outage_and_comes_back(opener, adapter):
    store = opener()
    await store.write(keep("a", b"1"))

    def cut(tx):
        if tx.shared:
            tx.run_sql("SELECT pg_terminate_backend(pg_backend_pid())", ())
        else:
            tx.run_sql("SELECT 1 FROM a_table_that_is_away", ())

    with pytest.raises(Outage):
        await store.write(cut)
    await store.write(keep("b", b"2"))

    assert [name for name, _ in await store.read(kept)] == ["a", "b"]


@contextlib.asynccontextmanager
async def busy(store: Store, *crews: Crew, works: int = 8):
    """Every thread of these crews reads and writes, and as much waits for them, until the block ends."""
    loop, over = asyncio.get_running_loop(), threading.Event()
    begun = asyncio.Event()

    def hold(_):
        loop.call_soon_threadsafe(begun.set)
        over.wait(20)

    async with asyncio.TaskGroup() as tasks:
        for crew in crews:
            held = store.of(crew)
            for _ in range(works):
                tasks.create_task(held.read(hold))
                if store.shared:
                    tasks.create_task(held.write(hold))
                    tasks.create_task(held.write(hold, locked=True))
        await begun.wait()
        await asyncio.sleep(0.05)
        try:
            yield
        finally:
            over.set()


@pytest.mark.parametrize("crew", [Crew.DEVICES, Crew.VITALS, Crew.WORK, Crew.PEOPLE])
async def test_crew_waits_for_no_other(opener, crew):
    store = opener()
    others = [each for each in (Crew.PEOPLE, Crew.WORK, Crew.DEVICES) if each is not crew]
    if crew is Crew.VITALS and not store.shared:
        others.remove(Crew.DEVICES)  # these two share their readers
    async with busy(store, *others), asyncio.timeout(20):
        mine = store.of(crew)
        await mine.prove()
        await mine.write(keep("a", b"1"))
        await mine.write(keep("b", b"2"), locked=True)
        found = await mine.read(kept), await mine.read_short(kept)

    assert found == ([("a", b"1"), ("b", b"2")],) * 2


async def test_write_of_devices_goes_before_two_hundred_that_wait(opener):
    store = opener()
    done: list[str] = []

    async def write(crew: Crew, *, locked: bool) -> None:
        await store.of(crew).write(lambda _: time.sleep(0.01), locked=locked)
        done.append(crew.name)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(200):
            tasks.create_task(write(Crew.PEOPLE, locked=False))
        await asyncio.sleep(0.05)
        tasks.create_task(write(Crew.DEVICES, locked=True))

    assert done.index("DEVICES") < 40


async def test_read_of_a_request_that_takes_too_long_is_given_up_and_is_no_outage(opener):
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    short = endless.replace("FROM n)", "FROM n WHERE i < 30000)")

    def many(tx):
        while True:
            tx.all(text(short))

    store = opener(longest_request_s=0.3)
    people = store.of(Crew.PEOPLE)
    refused = []
    for work in (lambda tx: tx.all(text(endless)), many):
        with pytest.raises(ReadTooLong) as refusal:
            await people.read(work)
        refused.append(refusal.value.after_s)
    await people.write(keep("a", b"1"))
    # Other crews may take longer.
    await store.of(Crew.WORK).read(lambda tx: (time.sleep(0.4), tx.all(text(short))))

    assert refused == [20, 20]
    assert await people.read(kept) == [("a", b"1")]
    assert store.troubles.present is None


SECRETS = Bulk(secret, "name", "value", on_conflict="ON CONFLICT DO NOTHING")
OF_REACH = Bulk(reach, "thing_id", "sort_key", "kind", "created_ms", "principal", "why")


def secrets(prefix: str, count: int) -> Rows:
    return Rows(SECRETS, [value for at in range(count) for value in (f"{prefix}{at:06}", b"%d" % at)])


def kept_secrets(prefix: str) -> Callable[[Any], list[tuple[str, bytes]]]:
    found = select(secret.c.name, secret.c.value).where(secret.c.name.startswith(prefix)).order_by(secret.c.name)
    return lambda tx: [(name, bytes(value)) for name, value in tx.all(found)]


def left_in_memory(tx: Any) -> int:
    """How many tables in memory the writer has."""
    return 0 if tx.shared else tx.connection.exec_driver_sql("SELECT count(*) FROM temp.sqlite_master").scalar_one()


@pytest.mark.parametrize("count", [0, 3, STAGED_FROM, 2 * STAGED_FROM + 7])
async def test_staged_rows_are_inserted_once_and_nothing_is_left_in_memory(opener, count: int) -> None:
    store = opener()
    async with staged(store, [[secrets("a", count), secrets("b", 2)]]) as insert_all:
        await store.write(keep("middle", b""))
        before = await store.read(kept_secrets("a"))
        taken = await store.write(insert_all)
    found = [await store.read(kept_secrets(prefix)) for prefix in ("a", "b")]
    left = await store.write(left_in_memory)

    assert (before, taken, left) == ([], True, 0)
    assert found[0] == [(f"a{at:06}", b"%d" % at) for at in range(count)]
    assert len(found[1]) == 2


@pytest.mark.parametrize("count", [3, STAGED_FROM, 2 * STAGED_FROM + 7])
async def test_rows_are_inserted_with_each_of_their_other_columns(opener, count: int) -> None:
    ids = [f"{at:06}" for at in range(count)]
    numbers = [value for each in ids for value in (each, f"n{each}")]
    rows = Rows(OF_REACH, numbers, [(1, 5, principal, why) for principal, why in (("p", 1), ("q", 6))])

    store = opener()
    async with staged(store, [[rows]]) as insert_all:
        taken = await store.write(insert_all)
    found = select(reach.c.principal, reach.c.thing_id, reach.c.sort_key, reach.c.kind, reach.c.created_ms, reach.c.why)
    found = found.order_by(reach.c.principal, reach.c.thing_id)
    found = await store.read(lambda tx: [tuple(row) for row in tx.all(found)])

    assert taken
    assert found == [(of, each, f"n{each}", 1, 5, why) for of, why in (("p", 1), ("q", 6)) for each in ids]


@pytest.mark.parametrize("count", [3, STAGED_FROM])
async def test_staged_rows_tell_that_one_is_there_already(opener, count: int) -> None:
    store = opener()
    await store.write(keep("a000002", b""))
    async with staged(store, [[secrets("a", count)]]) as insert_all:
        taken = await store.write(insert_all)

    assert (taken, await store.write(left_in_memory)) == (False, 0)


async def test_two_imports_stage_rows_at_the_same_time(opener) -> None:
    async def one(store: Store, prefix: str) -> bool:
        async with staged(store, [[secrets(prefix, STAGED_FROM)], [secrets(f"{prefix}_", STAGED_FROM)]]) as insert_all:
            return await store.write(insert_all)

    store = opener()
    done = await asyncio.gather(one(store, "a"), one(store, "b"))

    assert done == [True, True]
    assert [len(await store.read(kept_secrets(prefix))) for prefix in ("a", "b")] == [2 * STAGED_FROM] * 2


async def test_failure_behind_staged_rows_keeps_none_of_them(opener) -> None:
    store = opener()

    def fail(tx: Any) -> None:
        assert insert_all(tx)
        raise Taken

    with pytest.raises(Taken):
        async with staged(store, [[secrets("a", STAGED_FROM)]]) as insert_all:
            await store.write(fail)

    assert (await store.read(kept_secrets("a")), await store.write(left_in_memory)) == ([], 0)
