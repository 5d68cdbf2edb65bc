"""PostgreSQL's plans: every operation finds its rows by an index once a table is large.

The operations are those of `test_query_plans.py`, and so is the way in which they are asked. The planner is told that
reading a whole table costs very much, which is what it costs when there are many rows: what it reads whole even then,
no index leads to.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import text
from sqlalchemy.dialects import postgresql
from tests.integration import test_query_plans as asked
from tests.support import databases, rest, stores
from tests.support.access_world import World
from tests.support.plans import WHOLE, explain_postgres

from tripline.domain import access, ids
from tripline.domain.access import Action, Actor, Authority, Reach
from tripline.domain.ids import CompanyId, UserId
from tripline.domain.lines import NwStatus
from tripline.domain.pushes import State
from tripline.services.fleet import search as quick_search
from tripline.store import tables
from tripline.store.database import partitions, postgres
from tripline.store.database.postgres import Asker, PostgresStore
from tripline.store.database.postgres_statements import PostgresTx, Statements
from tripline.store.fleet import imports
from tripline.store.ingest import deliveries
from tripline.store.listing import delegations, lines, messages, sensors, vehicles
from tripline.store.listing.delegations import Side
from tripline.store.listing.pages import PageRequest, Place
from tripline.store.push import queue as push_queue
from tripline.store.scores import reads as score_reads

pytestmark = pytest.mark.deep

MANY_VEHICLES = """
    SET session_replication_role = replica;
    INSERT INTO vehicle
    (id, created_ms, company_id, service_type, vehicle_no, number_key, mileage, displacement, status)
    SELECT n::text, n, 'c', 'taxi', 'M' || n, 'm' || n, 1, 0, 'DEACTIVATED' FROM generate_series(1, 20000) n;
    RESET session_replication_role"""
READ_OF_VEHICLES = text("SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'vehicle'")
PERMITTED = {
    # The platform administrator's: the number of every company.
    "companies.count_partners": {"company"},
    # One row, the counter of changes.
    "positions.read": {"position_change"},
    "settling": {"position_change"},
    # The mails of one person, among those that wait to be sent, which are soon gone.
    "DELETE /director/…": {"mail_outbox"},
    "DELETE /driver/…": {"mail_outbox"},
    "DELETE /company/…": {"mail_outbox"},
    # The processes that share the store, a few rows: who has to confirm a change before it is answered.
    "PUT /company/…": {"node"},
    "DELETE /sensor/…": {"node"},
}


def played(folder) -> dict[str, set[str]]:
    """The tables that each operation reads whole."""
    seen: dict[str, dict[str, Any]] = defaultdict(dict)
    now = ["settling"]
    execute, rows, asked_rows = psycopg.Cursor.execute, Statements.rows, Asker.rows

    def note(query, params, cursor):
        if isinstance(query, str) and query.startswith(("SELECT", "UPDATE", "DELETE", "WITH")):
            seen[now[0]].setdefault(query, (params, cursor))

    def noting(self, query, params=None, **how):
        note(query, params, psycopg.Cursor)
        return execute(self, query, params, **how)

    def noting_hot(self, sql, values):
        note(sql, values, psycopg.RawCursor)
        return rows(self, sql, values)

    async def noting_asked(self, sql, values):
        note(sql, values, psycopg.RawCursor)
        return await asked_rows(self, sql, values)

    async def scenario():
        app = rest.Rest(database)
        try:
            world = await World(app).settle()
            for operation in asked.reading().values():
                await asked.read(app, world, operation, lambda name: now.__setitem__(0, name))
            await asked.change(app, world, lambda name: now.__setitem__(0, name))
        finally:
            await app.close()

    database = stores.fresh(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", noting)
        patch.setattr(Statements, "rows", noting_hot)
        patch.setattr(Asker, "rows", noting_asked)
        asyncio.run(scenario())
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("SET enable_seqscan = off")
        return {name: read_whole(connection, statements) for name, statements in seen.items()}


def read_whole(connection, statements: dict[str, Any]) -> set[str]:
    found = set()
    for statement, (params, cursor) in statements.items():
        plan = cursor(connection).execute(f"EXPLAIN {statement}", params).fetchall()
        found |= {table for (step,) in plan for table in WHOLE.findall(step)}
    return found


def test_messages_of_a_receiver_are_found_by_its_index_whatever_waits_for_others():
    """With statistics, of which a first page among everybody's rows looks cheaper."""
    text, order, _ = push_queue._ROWS_SHARED.compiled(postgresql.dialect())
    values = ("c5", "notify", 1_000, 250, 2**63 - 1)
    with databases.fresh() as database:
        database.rows(
            "INSERT INTO push_outbox (no, id, company_id, sensor_id, selector, body, due_ms)"
            " SELECT i, i::text, 'c' || i % 40, 's' || i % 2000, 2, '', 0 FROM generate_series(1, 40000) i"
        )
        with psycopg.connect(database.url, autocommit=True) as connection:
            connection.execute("ANALYZE push_outbox")
            asked_raw = psycopg.RawCursor(connection).execute(f"EXPLAIN {text}", [values[i] for i in order])
            plan = asked_raw.fetchall()

    steps = " ".join(step for (step,) in plan)
    assert "using ix_push_outbox_waiting" in steps
    assert "Sort" not in steps


@pytest.mark.parametrize("table", ["delivery", "microtrip"])
def test_redelivery_is_looked_for_by_key_among_many(table):
    """With statistics, a thousand at once, of which joining everything may look cheaper."""
    first = ids.first_no(databases.NOW_MS)
    bounds = (first, ids.first_no(databases.NOW_MS + 60_000))
    numbers = list(range(1_000))
    statement, values = {
        "delivery": (deliveries._ENTRIES, (numbers, numbers, *bounds)),
        "microtrip": (deliveries._of_all(tables.microtrip), ([first + each for each in numbers], *bounds)),
    }[table]
    with databases.fresh() as database:
        database.rows(f"INSERT INTO delivery SELECT i, i, {first} + i FROM generate_series(1, 30000) i")
        database.rows(
            "INSERT INTO microtrip (no, trip_no, id, ty, payload, samples)"
            f" SELECT {first} + i, i, i, 2, '', '' FROM generate_series(1, 30000) i"
        )
        with psycopg.connect(database.url, autocommit=True) as connection:
            connection.execute("ANALYZE delivery, microtrip")
            plan = psycopg.RawCursor(connection).execute(
                f"EXPLAIN {statement.compiled(postgresql.dialect())[0]}", values
            )
            steps = " ".join(step for (step,) in plan.fetchall())

    part = partitions.partition_of(table, first).name
    assert f"using {part}_pkey" in steps
    assert part not in WHOLE.findall(steps)
    assert set(re.findall(rf"{table}_(?:w\d+|other)", steps)) == {part}


@pytest.fixture(scope="module")
def scored() -> Iterator[databases.Database]:
    """Scores and events of fifty vehicles, 800 of each, with statistics; only to be looked at."""
    with databases.fresh("scored") as database:
        database.rows(
            "INSERT INTO trip (no, id, created_ms, company_id, vehicle_id, user_id, service_type, device_type, parking,"
            " state, start_ms) SELECT i, i::text, i, 'c', (i % 50)::text, (i % 50)::text, 't', 'GPS', false, 'ENDED', i"
            " FROM generate_series(1, 40000) i"
        )
        database.rows(
            "INSERT INTO driving_score (trip_no, trip_id, created_ms, vehicle_id, user_id, score, accel, de_accel,"
            " over_speed, over_speed_s, distance_m, policy, company_id, day, driving_ms, known_m) SELECT i, i::text, i,"
            " (i % 50)::text, (i % 50)::text, 9, 0, 0, 0, 0, 4, 1, 'c', 0, 0, 0 FROM generate_series(1, 40000) i"
        )
        database.rows(
            "INSERT INTO gps_event (no, id, trip_no, trip_id, created_ms, vehicle_id, user_id, device_type, event_ms,"
            " event_type, speed_mh, lat, lon, info) SELECT i, i::text, i, i::text, i, (i % 50)::text, (i % 50)::text,"
            " 'GPS', i, 5, 1, 1, 1, '' FROM generate_series(1, 40000) i"
        )
        database.rows("ANALYZE trip, driving_score, gps_event, erasure")
        yield database


@pytest.mark.parametrize("plans", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("owner", score_reads.Owner)
@pytest.mark.parametrize("by", score_reads.By)
@pytest.mark.parametrize("walks", [score_reads._SCORES, score_reads._EVENTS], ids=["scores", "events"])
def test_page_walks_the_index_of_its_owner_among_many(scored, walks, by, owner, ascending, plans):
    """With statistics: a page deep in the list, and its offset; by themselves and in one statement."""
    walk, place = walks[by], (5_000,) * len(walks[by].order)
    far, reaches = 9_000_000 if ascending else 0, frozenset({Reach.OWN_COMPANY})
    known = ("u", "c", "r", "s")
    asked_for = (
        (score_reads._page(walk, owner, ascending), ("7", *place, far, 21)),
        (score_reads._offset(walk, owner), ("5007", "7")),
        (score_reads._whole_page(walk, owner, ascending, False, reaches), ("7", far, 21, *known, *place)),
        (score_reads._whole_page(walk, owner, ascending, True, reaches), ("7", far, 21, *known, 5_000, "5007")),
    )
    steps = ""
    with psycopg.connect(scored.url, autocommit=True) as connection:
        connection.execute(f"SET plan_cache_mode = {plans}")
        for statement, given in asked_for:
            text, order, constants = statement.compiled(postgresql.dialect())
            steps += explain_postgres(connection, text, [[*given, *constants][i] for i in order])

    large = {"trip", "driving_score", "gps_event", "gps_event_other", "account", "account_session"}
    assert not set(WHOLE.findall(steps)) & large
    assert len(re.findall(r"using \w+ on account_session", steps)) == 2
    assert "Sort  (" not in steps
    assert "Hash" not in steps


@pytest.fixture(scope="module")
def pushed() -> Iterator[databases.Database]:
    """20,000 messages of a company in each state, about 100 of its operator's 20,000 sensors, with statistics; only to
    be looked at."""
    with databases.fresh("pushed") as database:
        database.rows(
            "SET session_replication_role = replica;"
            " INSERT INTO company (id, created_ms, name, service_type, master, master_id, token_prefix)"
            " VALUES ('c', 1, 'C', 'taxi', true, 'c', 'c');"
            " INSERT INTO sensor (id, created_ms, company_id, service_type, serial_no, serial_key, type,"
            " activation_required, status) SELECT 's' || n, n, 'o', 'taxi', CASE WHEN n % 2 = 0 THEN 'S' ELSE 's' END"
            " || 20000 + n * 13 % 20000, 's' || 20000 + n * 13 % 20000, 'GPS', false, 'ACTIVATED'"
            " FROM generate_series(0, 19999) n;"
            " INSERT INTO push_outbox (no, id, company_id, sensor_id, selector, body, due_ms, channel, parked_ms,"
            " unconfirmed_ms) SELECT n, n::text, 'c', 's' || n % 100, 1 + n % 12, '', 1,"
            " CASE WHEN n % 10 = 1 THEN 'rpc_notify' ELSE 'notify' END, CASE WHEN n % 3 > 0 THEN 1 END,"
            " CASE WHEN n % 3 > 1 THEN 1 END FROM generate_series(1, 60000) n;"
            " SET session_replication_role = origin; ANALYZE push_outbox, sensor, company"
        )
        yield database


@pytest.mark.parametrize("plans", ["force_custom_plan", "force_generic_plan"])
def test_messages_of_each_state_are_counted_along_its_index(pushed, plans):
    """With statistics, of a company that all messages are of."""
    found = plans_of(
        pushed,
        lambda tx, _: messages.counts(tx, CompanyId("c"), most=1_000),
        {"plan_cache_mode": plans},
        PageRequest(limit=50, by="made"),
    )
    steps = "\n".join(found)

    assert {f"using ix_push_outbox_{state} on push_outbox" in steps for state in State} == {True}
    assert "push_outbox" not in WHOLE.findall(steps)


@pytest.fixture(scope="module")
def lined() -> Iterator[databases.Database]:
    """Lines of a company's 18,000 devices, 200 of which somebody directs, and of another one's, with statistics; only
    to be looked at."""
    with databases.fresh("lined") as database:
        database.rows(
            "SET session_replication_role = replica;"
            " INSERT INTO vehicle (id, created_ms, company_id, service_type, vehicle_no, number_key, mileage,"
            " displacement, status, director_id) SELECT 'v' || n, n, 'c', 'taxi', 'V' || n, 'v' || n, 1, 0,"
            " 'ACTIVATED', CASE WHEN n % 100 = 1 THEN 'd' END FROM generate_series(1, 20000) n;"
            " INSERT INTO sensor (id, created_ms, company_id, service_type, vehicle_id, serial_no, serial_key, type,"
            " activation_required, status) SELECT 's' || n, n * 7 % 20000, CASE WHEN n % 10 = 0 THEN 'o' ELSE 'c' END,"
            " 'taxi', 'v' || n, no, no, 'GPS', false, 'ACTIVATED'"
            " FROM generate_series(1, 20000) n, LATERAL (SELECT 35000 + n * 13 % 20000 no) numbered;"
            " INSERT INTO carrier_line (sensor_id, mdn, nw_status, updated_ms) SELECT 's' || n, '010' || n,"
            " CASE WHEN n % 5000 = 7 THEN '02' ELSE '01' END, 1 FROM generate_series(1, 20000) n;"
            " SET session_replication_role = origin; ANALYZE vehicle, sensor, carrier_line, vehicle_user"
        )
        yield database


def plans_of_lines(
    database: databases.Database, role: Authority, filters: lines.Filters, turn: PageRequest, **settings: str
) -> list[str]:
    """How each statement of a page of lines, and of their number, is run for somebody of the company."""
    scope = access.scope_of(Actor(UserId("d"), role, CompanyId("c")), Action.SENSOR_READ)
    return plans_of(
        database, lambda tx: (lines.LIST.page(tx, scope, filters, turn), lines.LIST.count(tx, scope, filters)), settings
    )


def plans_of(
    database: databases.Database, read: Callable[..., Any], settings: Mapping[str, str], *given: Any
) -> list[str]:
    """How each statement is run with which something is read: by a transaction and what is given."""
    seen: list[tuple[str, list[Any]]] = []

    class Noting(Statements):
        def rows(self, sql, values):
            seen.append((sql, list(values)))
            return super().rows(sql, values)

    with postgres.open_engine(database.url).connect() as connection:
        driver = connection.connection.driver_connection
        tx = PostgresTx(connection, Noting(driver))
        read(tx, *given)
        for name, value in settings.items():
            driver.execute(sql.SQL("SET {} = {}").format(sql.Identifier(name), sql.Literal(value)))
        return [explain_postgres(driver, *asked_for) for asked_for in seen]


FILTERS_OF_LINES = [
    lines.Filters(search=search, state=state)
    for search in (None, "35", "010", "01012", "x")
    for state in (None, NwStatus.USE_SUSPENDED)
]


@pytest.mark.parametrize("filters", FILTERS_OF_LINES, ids=str)
@pytest.mark.parametrize("role", [Authority.COMPANY_ADMIN, Authority.DIRECTOR])
def test_no_list_of_lines_reads_a_whole_table(lined, role, filters):
    found = [
        plan
        for by in ("serial", "created")
        for place in (None, Place("1" if by == "serial" else 1, "x"))
        for plan in plans_of_lines(
            lined, role, filters, PageRequest(limit=50, by=by, place=place), enable_seqscan="off"
        )
    ]

    assert "carrier_line" in "".join(found)
    assert [plan for plan in found if WHOLE.search(plan)] == []


@pytest.fixture(scope="module")
def plated() -> Iterator[databases.Database]:
    """40,000 vehicles and sensors with lines, and as many people, of an operator and its partner, with statistics; only
    to be looked at."""
    with databases.fresh("plated") as database:
        database.rows(
            "SET session_replication_role = replica;"
            " INSERT INTO company (id, created_ms, name, service_type, token_prefix, master, master_id, pic_name)"
            " VALUES ('o', 1, 'O', 'taxi', 'o', true, 'o', 'Kim'), ('c', 1, 'C', 'taxi', 'c', false, 'o', 'Kim');"
            " INSERT INTO vehicle (id, created_ms, company_id, service_type, vehicle_no, number_key, mileage,"
            " displacement, status)"
            " SELECT 'v' || n, n * 7 % 40000, CASE WHEN n % 2 = 0 THEN 'c' ELSE 'o' END, 'taxi', no, no, 1, 0,"
            " 'ACTIVATED' FROM generate_series(1, 40000) n,"
            " LATERAL (SELECT n / 4000 + 10 || '가' || lpad((n * 7919 % 10000)::text, 4, '0') no) numbered;"
            " INSERT INTO sensor (id, created_ms, company_id, service_type, vehicle_id, serial_no, serial_key, type,"
            " activation_required, status) SELECT 's' || n, n * 7 % 40000, CASE WHEN n % 2 = 0 THEN 'c' ELSE 'o' END,"
            " 'taxi', 'v' || n, no, no, 'GPS', false, 'ACTIVATED'"
            " FROM generate_series(1, 40000) n, LATERAL (SELECT 350000 + n * 13 % 40000 no) numbered;"
            " INSERT INTO carrier_line (sensor_id, mdn, iccid, imsi, nw_status, updated_ms) SELECT 's' || n,"
            " '010' || n * 31, '8982' || n * 7, '45008' || n * 13, '01', 1 FROM generate_series(1, 40000) n;"
            " INSERT INTO account (id, created_ms, company_id, authority, name, email, login, phone, password_hash,"
            " password_updated_ms, enabled) SELECT n::text, n, CASE WHEN n % 2 = 0 THEN 'c' ELSE 'o' END, 'DRIVER',"
            " 'Kim', 'd' || n, 'd' || n, '010-' || n, '', 1, true FROM generate_series(1, 40000) n;"
            " UPDATE account SET authority = 'COMPANY_ADMIN' WHERE id IN ('1', '2');"
            " SET session_replication_role = origin; ANALYZE vehicle, sensor, carrier_line, account, company"
        )
        yield database


@pytest.mark.parametrize("plans", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize(("user_id", "company_id"), [("1", "o"), ("2", "c")])
@pytest.mark.parametrize("search", ["1234", "12가1234", "01012341234"])
def test_numbers_are_found_by_their_last_digits_without_reading_a_whole_table(
    plated, search, user_id, company_id, plans
):
    """With statistics."""
    actor = Actor(UserId(user_id), Authority.COMPANY_ADMIN, CompanyId(company_id))
    scopes = [access.scope_of(actor, action) for action in (Action.VEHICLE_READ, Action.SENSOR_READ)]
    asked_of = (vehicles, sensors)

    def read(tx: PostgresTx) -> None:
        quick_search.find(tx, actor=actor, text=search)
        for scope, rows in zip(scopes, asked_of, strict=True):
            filters = rows.Filters(search=search)
            rows.LIST.page(tx, scope, filters, PageRequest(limit=50, by="created"))
            rows.LIST.count(tx, scope, filters)

    steps = "\n".join(plans_of(plated, read, {"plan_cache_mode": plans}))

    indexes = {"ix_vehicle_ending", "ix_sensor_ending", "ix_account_phone_ending"}
    of_lines = {f"ix_carrier_line_{name}_ending" for name in ("mdn", "iccid", "imsi")}
    wanted = indexes if "가" in search else indexes | of_lines
    assert {name for name in indexes | of_lines if name in steps} == wanted
    assert not set(WHOLE.findall(steps)) & {"vehicle", "sensor", "carrier_line", "account"}


@pytest.fixture(scope="module")
def delegated() -> Iterator[databases.Database]:
    """20,000 vehicles of a partner, delegated to its operator, every other one to another partner and 20 to a third,
    with statistics; only to be looked at."""
    with databases.fresh("delegated") as database:
        database.rows(
            "SET session_replication_role = replica;"
            " INSERT INTO company (id, created_ms, name, service_type, master, master_id, token_prefix)"
            " SELECT id, 1, id, 'taxi', id = 'o', 'o', id FROM unnest(ARRAY['o', 'p', 'q', 'r']) id;"
            " INSERT INTO vehicle (id, created_ms, company_id, service_type, vehicle_no, number_key, mileage,"
            " displacement, status) SELECT 'v' || n, n, 'p', 'taxi', 'V' || no, 'v' || no, 1, 0, 'ACTIVATED'"
            " FROM generate_series(1, 20000) n, LATERAL (SELECT n * 13 % 20000 + 20000 no) numbered;"
            " INSERT INTO vehicle_company (id, created_ms, vehicle_id, from_company_id, to_company_id, automatic)"
            " SELECT t || n, n * 7 % 20000, 'v' || n, 'p', t, t = 'o' FROM generate_series(1, 20000) n,"
            " unnest(ARRAY['o', 'q', 'r']) t WHERE t = 'o' OR t = 'q' AND n % 2 = 0 OR t = 'r' AND n % 1000 = 0;"
            " SET session_replication_role = origin; ANALYZE company, vehicle, vehicle_company, vehicle_user"
        )
        yield database


@pytest.mark.parametrize(
    "filters",
    [
        *(delegations.Filters(search=search) for search in (None, "V25", "x")),
        delegations.Filters(company_id=CompanyId("r")),
        delegations.Filters(automatic=False, search="V2"),
        delegations.Filters(automatic=True),
    ],
    ids=str,
)
@pytest.mark.parametrize(("role", "company"), [("COMPANY_ADMIN", "p"), ("COMPANY_ADMIN", "r"), ("DIRECTOR", "p")])
@pytest.mark.parametrize("side", Side)
def test_no_list_of_delegations_reads_a_whole_table(delegated, side, role, company, filters):
    actor = Actor(UserId("d"), Authority(role), CompanyId(company))
    scope = access.scope_of(actor, Action.VEHICLE_DELEGATIONS_READ)
    found = [
        plan
        for by in ("number", "created")
        for place in (None, Place("V25" if by == "number" else 1, "x"))
        for plan in plans_of(
            delegated,
            lambda tx, turn: (
                delegations.page(tx, side, scope, filters, turn),
                delegations.count(tx, side, scope, filters),
            ),
            {"enable_seqscan": "off"},
            PageRequest(limit=50, by=by, place=place),
        )
    ]

    assert "vehicle_company" in "".join(found)
    assert [plan for plan in found if WHOLE.search(plan)] == []


def test_no_operation_reads_a_whole_table(tmp_path, monkeypatch):
    monkeypatch.setenv(stores.VARIABLE, "postgresql")

    found = played(tmp_path)

    assert asked.reading().keys() <= found.keys()
    assert {name: tables for name, tables in found.items() if tables} == PERMITTED


def test_names_of_an_import_are_found_by_their_index_though_the_table_was_empty_when_they_were_asked_for_first():
    """Without statistics, which are made a minute later at the earliest."""
    names = [f"n{number}" for number in range(250)]
    with databases.fresh() as database:
        store = PostgresStore(database.url, readers=1, writers=1)

        def read(tx) -> int:
            assert imports.taken_numbers(tx, "taxi", names) == set()
            return int(tx.all(READ_OF_VEHICLES)[0][0])

        async def scenario() -> list[int]:
            try:
                for _ in range(20):
                    await store.read(read)
                database.rows(MANY_VEHICLES)
                return [await store.read(read) for _ in range(3)]
            finally:
                await store.close()

        assert asyncio.run(scenario()) == [0, 0, 0]
