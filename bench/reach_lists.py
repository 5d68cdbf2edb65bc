"""Lists by rows of `reach`, taken in turn with another version on one database.

python -m bench.reach_lists sqlite|postgresql [reps]
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from bench import companies, shared
from bench.device_channel import disk
from sqlalchemy import text
from tests.support import reaching

from tripline.domain.access import RULES, Action, Authority, Scope
from tripline.domain.vehicles import Status
from tripline.store import migrate, reach
from tripline.store.database import postgres, sqlite
from tripline.store.database.postgres_statements import PostgresTx
from tripline.store.listing import sensors as new_sensors
from tripline.store.listing import sensors as old_sensors
from tripline.store.listing import vehicles as new_vehicles
from tripline.store.listing import vehicles as old_vehicles
from tripline.store.listing.pages import PageRequest, Place
from tripline.store.transactions import WriteTx

FLEET = companies.Fleet(service_type="large", companies=50, vehicles=100_000, people=10_000)


def scopes(made):
    role = {
        "operator": (Authority.COMPANY_ADMIN, made.operator_admin, made.operator),
        "partner (50,000)": (Authority.COMPANY_ADMIN, made.big_admin, made.big),
        "borrower (1,020 + 2,000)": (Authority.COMPANY_ADMIN, "x", made.borrower),
        "director (5,000 + 2,000)": (Authority.DIRECTOR, made.director, made.big),
        "driver (2,000)": (Authority.DRIVER, made.driver, made.big),
    }
    return {
        (who, noun): Scope("bench", RULES[action].get(authority), user, company)
        for who, (authority, user, company) in role.items()
        for noun, action in (("vehicles", Action.VEHICLE_READ), ("sensors", Action.SENSOR_READ))
    }


def seeded(tx):
    made = companies.write(tx.connection, FLEET)
    # 900 vehicles of one state, 20 that drive, 3,000 of another state at the end of the numbers.
    tx.connection.execute(text("UPDATE vehicle SET status = 'DEACTIVATED' WHERE vehicle_no >= 'VN097000'"))
    tx.connection.execute(text("ANALYZE"))
    began = time.perf_counter()
    written = reaching.recount(tx)
    print(f"wrote {written:,} rows in {time.perf_counter() - began:.1f} s", flush=True)
    tx.connection.execute(text("ANALYZE reach"))
    some = [row[0] for row in tx.connection.execute(text("SELECT id FROM vehicle ORDER BY id LIMIT 10000")).all()]
    for count in (1, 1, 1, 1, 1, 1, 1, 100, 1_000, 10_000):
        timed(tx, f"refresh of {count} vehicles with their sensors", some[:count])
    tx.run_sql("SAVEPOINT lent", ())
    lent = "SELECT id || 'x', 1, id, company_id, ?, false FROM vehicle WHERE id <= ? ON CONFLICT DO NOTHING"
    columns = "id, created_ms, vehicle_id, from_company_id, to_company_id, automatic"
    sql = f"INSERT INTO vehicle_company ({columns}) {lent}"
    tx.run_sql(sql.replace("?", "%s") if tx.shared else sql, (made.borrower, some[-1]))
    timed(tx, "refresh of 10,000 vehicles that were delegated", some)
    tx.run_sql("ROLLBACK TO SAVEPOINT lent", ())
    return made


def timed(tx, what, ids):
    began, busy = time.perf_counter(), time.thread_time()
    wrong = reach.refresh(tx, ids)
    wall, own = (time.perf_counter() - began) * 1000, (time.thread_time() - busy) * 1000
    print(
        f"{what}: {wrong} wrong, {wall:.1f} ms, of it {own:.1f} of this thread, load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def asked(made):
    deep = Place("VN090000", "~")
    v = {
        "first": ({}, PageRequest(limit=50, by="number")),
        "deep": ({}, PageRequest(limit=50, by="number", place=deep)),
        "newest first": ({}, PageRequest(limit=50, by="created", descending=True)),
        "search begins VN05": ({"search": "VN05"}, PageRequest(limit=50, by="number")),
        "search begins VN05, by time": ({"search": "VN05"}, PageRequest(limit=50, by="created")),
        "search ends 4321": ({"search": "4321"}, PageRequest(limit=50, by="number")),
        "search finds none": ({"search": "zz"}, PageRequest(limit=50, by="number")),
        "without sensor (a tenth)": ({"with_sensor": False}, PageRequest(limit=50, by="number")),
        "driving: none": ({"driving": True}, PageRequest(limit=50, by="number")),
        "state: 3,000 at the end": ({"status": Status.DEACTIVATED}, PageRequest(limit=50, by="number")),
        "own": ({"whose": old_vehicles.Whose.OWN}, PageRequest(limit=50, by="number")),
        "of others": ({"whose": old_vehicles.Whose.OTHERS}, PageRequest(limit=50, by="number")),
        "delegated by choice": ({"whose": old_vehicles.Whose.DELEGATED}, PageRequest(limit=50, by="number")),
        "of one partner": ({"company_id": made.borrower}, PageRequest(limit=50, by="number")),
        "of one director": ({"director_id": made.director}, PageRequest(limit=50, by="number")),
        "of one holder": ({"holder_id": made.driver}, PageRequest(limit=50, by="number")),
    }
    s = {
        "first": ({}, PageRequest(limit=50, by="serial")),
        "deep": ({}, PageRequest(limit=50, by="serial", place=Place("SN-VN090000", "~"))),
        "newest first": ({}, PageRequest(limit=50, by="created", descending=True)),
        "search ends 4321": ({"search": "4321"}, PageRequest(limit=50, by="serial")),
        "unmounted (a tenth)": ({"mounted": False}, PageRequest(limit=50, by="serial")),
        "connected: none": ({"heard": old_sensors.Heard.CONNECTED}, PageRequest(limit=50, by="serial")),
        "of type GPS (all)": ({"type": "GPS"}, PageRequest(limit=50, by="serial")),
        "of type none": ({"type": "none"}, PageRequest(limit=50, by="serial")),
    }
    return {"vehicles": v, "sensors": s}


def new_filters(noun, given):
    if noun == "sensors":
        return old_sensors.Filters(**given)
    given = dict(given)
    if "whose" in given:
        given["whose"] = new_vehicles.Whose(given["whose"].value)
    return new_vehicles.Filters(**given)


def ways(tx, scope, noun, given, turn):
    old = {"vehicles": old_vehicles, "sensors": old_sensors}[noun]
    new = {"vehicles": new_vehicles, "sensors": new_sensors}[noun]
    was, now = old.Filters(**given), new_filters(noun, given)
    if turn is None:
        return {"old": lambda: old.count(tx, scope, was), "new": lambda: new.count(tx, scope, now)}
    return {"old": lambda: old.page(tx, scope, was, turn), "new": lambda: new.page(tx, scope, now, turn)}


def measured(tx, made, reps, clock):
    every = [
        (who, noun, name, scope, given, turn)
        for (who, noun), scope in scopes(made).items()
        if scope.reaches
        for name, (given, turn) in asked(made)[noun].items()
    ]
    every += [
        (who, noun, f"count, {name}", scope, given, None)
        for who, noun, name, scope, given, _ in every
        if name
        in ("first", "without sensor (a tenth)", "state: 3,000 at the end", "unmounted (a tenth)", "search begins VN05")
    ]
    print(f"load {os.getloadavg()[0]:.1f}")
    print("| looker, list | page | rows | old p50 | old p99 | new p50 | new p99 ms |")
    for who, noun, name, scope, given, turn in every:
        took = {"old": [], "new": []}
        calls = ways(tx, scope, noun, given, turn)
        results = {each: call() for each, call in calls.items()}
        rows = {each: [r.id for r in found.rows] if turn else found for each, found in results.items()}
        assert rows["old"] == rows["new"], (who, noun, name, rows)
        for _ in range(reps):
            for each, call in calls.items():
                began = clock()
                call()
                took[each].append((clock() - began) * 1000)
        line = []
        for each in ("old", "new"):
            ordered = sorted(took[each])
            line += [f"{ordered[len(ordered) // 2]:.2f}", f"{ordered[int(len(ordered) * 0.99)]:.2f}"]
        n = len(rows["new"]) if turn else rows["new"]
        print(f"| {who}, {noun} | {name} | {n} | {' | '.join(line)} |", flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


def main():
    store, reps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    if store == "sqlite":
        with tempfile.TemporaryDirectory(dir=disk()) as folder:
            path = Path(folder) / "tripline.db"
            migrate.upgrade(path)
            engine = sqlite.open_engine(path)
            with engine.connect() as connection:
                tx = WriteTx(connection)
                connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
                connection.exec_driver_sql("BEGIN")
                made = seeded(tx)
                connection.exec_driver_sql("COMMIT")
                print(f"file {path.stat().st_size / 1e6:.0f} MB")
                for name, size in connection.exec_driver_sql(
                    "SELECT name, sum(pgsize) FROM dbstat WHERE name LIKE '%reach%' GROUP BY name ORDER BY 2 DESC"
                ).all():
                    print(f"  {name} {size / 1e6:.1f} MB")
                connection.exec_driver_sql("BEGIN")
                measured(tx, made, reps, time.thread_time)
        return
    with shared.database(durable=False) as database:
        url = database.url(shared.DATABASE)
        migrate.upgrade_shared(url, now_ms=int(time.time() * 1000))
        with postgres.open_engine(url).connect() as connection:
            tx = PostgresTx(connection)
            connection.exec_driver_sql("BEGIN")
            connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
            made = seeded(tx)
            connection.exec_driver_sql("COMMIT")
            connection.exec_driver_sql("VACUUM ANALYZE")
            for name, size in connection.exec_driver_sql(
                "SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relname ~ 'reach' ORDER BY 2 DESC"
            ).all():
                print(f"  {name} {size / 1e6:.1f} MB")
            connection.exec_driver_sql("BEGIN")
            connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
            measured(tx, made, reps, time.perf_counter)


if __name__ == "__main__":
    main()
