"""A service type with very many rows, and every list of it: in each order, from each looker, with each filter.

Half of the vehicles and sensors belong to the partner `big`, whose every tenth vehicle its first director manages and
on whose first `RIGHTS` its first driver has a right; as many it delegates to the borrower. Not here: what lists must
have (`listing.py`).
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from tests.support import reaching
from tripline.domain.access import RULES, Action, Authority, Scope
from tripline.domain.applications import State as ApplicationState
from tripline.domain.ids import CompanyId, UserId
from tripline.domain.lines import NwStatus
from tripline.domain.pushes import Channel, Name, State
from tripline.domain.vehicles import Status
from tripline.store.listing import (
    accounts,
    applications,
    companies,
    delegations,
    lines,
    messages,
    people,
    sensors,
    services,
    vehicles,
)
from tripline.store.listing.delegations import Side
from tripline.store.listing.pages import Page, PageRequest
from tripline.store.listing.sensors import Heard
from tripline.store.listing.vehicles import Whose
from tripline.store.tables import metadata
from tripline.store.transactions import ReadTx, WriteTx

COMPANIES: Final = 50
RIGHTS: Final = 2_000
LAST: Final = 3_000
"""Vehicles that are deactivated, at the end of the numbers; as many sensors are of another type."""
END: Final = "-11f1-8000-1d43f3c436cb"


def _id(letter: str, number: str) -> str:
    return f"'{letter}' || ({number} + 1000000) || '-0000{END}'"


def _known(letter: str, number: int) -> str:
    return f"{letter}{number + 1_000_000}-0000{END}"


OPERATOR, BIG, BORROWER = (CompanyId(_known("c", n)) for n in (0, 1, COMPANIES - 1))
DIRECTOR, DRIVER = UserId(_known("p", 0)), UserId(_known("p", 2))
LOOKERS: Final[dict[str, tuple[Authority, UserId, CompanyId]]] = {
    "operator": (Authority.COMPANY_ADMIN, UserId("admin"), OPERATOR),
    "partner": (Authority.COMPANY_ADMIN, UserId("admin"), BIG),
    "borrower": (Authority.COMPANY_ADMIN, UserId("admin"), BORROWER),
    "director": (Authority.DIRECTOR, DIRECTOR, BIG),
    "driver": (Authority.DRIVER, DRIVER, BIG),
}


def fill(tx: WriteTx, count: int) -> None:
    """Write `count` vehicles and sensors, as many accounts and applications and three times as many messages; on
    PostgreSQL with statistics, which SQLite has none of."""
    of_others = _id("c", f"(2 + n % {COMPANIES - 1}) % {COMPANIES}")
    for sql in _STATEMENTS:
        made = sql.format(
            numbers="WITH RECURSIVE numbered (n) AS"
            f" (SELECT 0 UNION ALL SELECT n + 1 FROM numbered WHERE n + 1 < {count})",
            owner=f"CASE WHEN n < {count // 2} THEN {_id('c', '1')} ELSE {of_others} END",
            shuffled=f"({count} + n * 7919 % {count})",
            half=count // 2,
            last=2 * count - LAST,
        )
        tx.run_sql(made, ())
    reaching.recount(tx)
    if tx.shared:
        # Named: ANALYZE of everything locks catalogs that all databases share until this transaction ends.
        tx.run_sql(f"ANALYZE {', '.join(table.name for table in metadata.sorted_tables)}", ())


_STATEMENTS: Final = (
    "INSERT INTO company (id, created_ms, name, service_type, master, master_id, token_prefix, pic_name)"
    " {numbers} SELECT " + _id("c", "n") + ", n, 'Company ' || (1000 + n), 'taxi', n = 0, " + _id("c", "0") + ","
    f" 'c' || n, 'Kim' FROM numbered WHERE n < {COMPANIES}",
    "INSERT INTO account (id, created_ms, company_id, authority, name, email, login, phone, password_hash,"
    " password_updated_ms, enabled) {numbers} SELECT " + _id("p", "n") + ", n, {owner},"
    " CASE WHEN n % 10 < 2 THEN 'DIRECTOR' ELSE 'DRIVER' END, 'Kim ' || {shuffled}, 'd' || n || '@x.example',"
    " 'd' || n || '@x.example', '010-' || (1000 + n % 9000) || '-' || (1000 + n * 7 % 9000), '', 1, n % 100 > 0"
    " FROM numbered",
    "INSERT INTO vehicle (id, created_ms, company_id, service_type, vehicle_no, number_key, mileage, displacement,"
    " status, latest_trip_id, director_id) {numbers} SELECT "
    + _id("v", "n")
    + ", n, {owner}, 'taxi', 'V' || {shuffled},"
    " 'v' || {shuffled}, 1, 0, CASE WHEN {shuffled} < {last} THEN 'ACTIVATED' ELSE 'DEACTIVATED' END,"
    " 't' || n, CASE WHEN n < {half} AND n % 10 = 0 THEN " + _id("p", "0") + " END FROM numbered",
    "INSERT INTO sensor (id, created_ms, company_id, service_type, vehicle_id, serial_no, serial_key, type,"
    " activation_required, status) {numbers} SELECT " + _id("s", "n") + ", n, {owner}, 'taxi',"
    " CASE WHEN n % 10 > 0 THEN " + _id("v", "n") + " END, 'S' || {shuffled}, 's' || {shuffled},"
    " CASE WHEN {shuffled} < {last} THEN 'GPS' ELSE 'DTG' END, n % 2 = 0, 'ACTIVATED' FROM numbered",
    "INSERT INTO vehicle_company (id, created_ms, vehicle_id, from_company_id, to_company_id, automatic)"
    " SELECT 'a' || substr(id, 2), created_ms, id, company_id, " + _id("c", "0") + ", 1 = 1 FROM vehicle"
    " WHERE company_id <> " + _id("c", "0"),
    "INSERT INTO vehicle_company (id, created_ms, vehicle_id, from_company_id, to_company_id, automatic)"
    " {numbers} SELECT "
    + _id("b", "n")
    + ", n, "
    + _id("v", "n")
    + ", "
    + _id("c", "1")
    + ", "
    + _id("c", str(COMPANIES - 1))
    + f", 1 = 0 FROM numbered WHERE n < {RIGHTS}",
    *(
        "INSERT INTO vehicle_user (id, created_ms, vehicle_id, company_id, user_id, user_role)"
        f" SELECT '{letter}' || substr(id, 2), created_ms, id, company_id, {_id('p', person)}, '{role}'"
        f" FROM vehicle WHERE id < {_id('v', str(RIGHTS))}"
        for letter, person, role in (("r", "2", "DRIVER"), ("q", "0", "DELEGATED_DIRECTOR"))
    ),
    "INSERT INTO carrier_line (sensor_id, mdn, iccid, imsi, nw_status, updated_ms) {numbers} SELECT "
    + _id("s", "n")
    + ", '010' || (10000000 + n * 31), '8982' || (10000000 + n * 7), '45008' || (10000000 + n * 13),"
    " CASE WHEN n % 1000 = 7 THEN '02' ELSE '01' END, 1 FROM numbered",
    "INSERT INTO device_connection (sensor_id, connected, changed_ms, seen_ms, lost_ms, told) {numbers} SELECT "
    + _id("s", "n")
    + ", n % 100 = 1, 1, n, 1, 1 = 1 FROM numbered WHERE n % 3 = 1",
    "INSERT INTO trip (no, id, created_ms, company_id, vehicle_id, service_type, device_type, parking, state, start_ms)"
    " {numbers} SELECT n, 't' || n, n, {owner}, " + _id("v", "n") + ", 'taxi', 'GPS', 1 = 0,"
    " CASE WHEN n % 1000 = 1 THEN 'OPEN' ELSE 'COMPLETE' END, n FROM numbered",
    "INSERT INTO vehicle_position (vehicle_id, company_id, change_no, time_ms, lat, lon, parking, driving)"
    " {numbers} SELECT " + _id("v", "n") + ", {owner}, n, n, 37, 127, 1 = 0, CASE WHEN n % 1000 = 1 THEN 1 = 1 END"
    " FROM numbered",
    "INSERT INTO service_application (id, created_ms, service_name, company_name, contact_name, mobile, email, login,"
    " introduction, language, state) {numbers} SELECT "
    + _id("l", "n")
    + ", n, 'Taxi' || {shuffled}, 'c', 'Kim', '010',"
    " n || '@x', n || '@x', '', 'en', CASE WHEN n % 1000 = 0 THEN 'SUBMITTED' ELSE 'APPROVED' END FROM numbered",
    *(
        "INSERT INTO push_outbox (no, id, company_id, sensor_id, selector, body, due_ms, channel, parked_ms,"
        " unconfirmed_ms) {numbers} SELECT 3 * n + "
        + str(at)
        + ", "
        + _id("m", "3 * n + " + str(at))
        + ", "
        + _id("c", "0")
        + ", "
        + _id("s", "n % 100")
        + ", 1 + n % 12, '', 1,"
        " CASE WHEN n % 10 = 1 THEN 'rpc_notify' ELSE 'notify' END, " + f"{parked}, {unconfirmed} FROM numbered"
        for at, (parked, unconfirmed) in enumerate((("NULL", "NULL"), ("1", "NULL"), ("1", "1")))
    ),
)


class Asked(NamedTuple):
    """A list that somebody looks at."""

    name: str
    looker: str
    filters: Any
    orders: dict[str, str | int]
    """Order -> a place deep in the list."""
    page: Callable[[ReadTx, PageRequest], Page[Any]]
    count: Callable[[ReadTx], int]


def asked(count: int) -> Iterator[Asked]:
    """Every list."""
    deep, time = count + count * 9 // 10, count * 9 // 10
    for looker in LOOKERS:
        yield from _within(vehicles, looker, Action.VEHICLE_READ, _VEHICLES, {"number": f"V{deep}", "created": time})
        yield from _within(sensors, looker, Action.SENSOR_READ, _SENSORS, {"serial": f"S{deep}", "created": time})
        yield from _within(lines, looker, Action.SENSOR_READ, _LINES, {"serial": f"S{deep}", "created": time})
        orders = {"name": f"Kim {deep}", "email": "d9", "created": time}
        yield from _within(people, looker, Action.PERSON_LIST, _PEOPLE, orders)
        yield from _within(companies, looker, Action.COMPANY_LIST, _COMPANIES, {"name": "Company 1040", "created": 40})
        for side in Side:
            scope = _scope(looker, Action.VEHICLE_DELEGATIONS_READ)
            for filters in _DELEGATIONS[side] if scope is not None else ():
                orders = {"number": f"V{deep}", "created": time}
                yield Asked(
                    f"delegations {side.name}",
                    looker,
                    filters,
                    orders,
                    lambda tx, turn, side=side, scope=scope, filters=filters: delegations.page(
                        tx, side, scope, filters, turn
                    ),
                    lambda tx, side=side, scope=scope, filters=filters: delegations.count(tx, side, scope, filters),
                )
    for noun, each, orders in (
        (accounts, _ACCOUNTS, {"email": "d9"}),
        (applications, _APPLICATIONS, {"name": f"Taxi{deep}", "created": time}),
        (services, _SERVICES, {"service": "taxi", "name": "Company", "created": 0}),
        (messages, _MESSAGES, {"made": time * 3}),
    ):
        for filters in each:
            yield _asked(noun, "platform", filters, orders, None)


def _within(noun: Any, looker: str, action: Action, filters: Any, orders: dict[str, Any]) -> Iterator[Asked]:
    scope = _scope(looker, action)
    for each in filters if scope is not None else ():
        yield _asked(noun, looker, each, orders, scope)


def _asked(noun: Any, looker: str, filters: Any, orders: dict[str, Any], scope: Scope | None) -> Asked:
    return Asked(
        noun.__name__.rpartition(".")[2],
        looker,
        filters,
        orders,
        lambda tx, turn: noun.LIST.page(tx, scope, filters, turn),
        lambda tx: noun.LIST.count(tx, scope, filters),
    )


def _scope(looker: str, action: Action) -> Scope | None:
    authority, user_id, company_id = LOOKERS[looker]
    reaches = RULES[action].get(authority)
    return None if reaches is None else Scope("test", reaches, user_id, company_id)


_VEHICLES: Final = (
    vehicles.Filters(),
    *(vehicles.Filters(search=text) for text in ("V1", "v15", "4321", "zz")),
    *(vehicles.Filters(status=each) for each in Status),
    *(vehicles.Filters(with_sensor=each) for each in (True, False)),
    *(vehicles.Filters(driving=each) for each in (True, False)),
    *(vehicles.Filters(whose=each) for each in Whose),
    vehicles.Filters(whose=Whose.OWN, search="V1"),
    vehicles.Filters(company_id=BORROWER),
    vehicles.Filters(director_id=DIRECTOR),
    vehicles.Filters(director_id=DIRECTOR, status=Status.DEACTIVATED),
    vehicles.Filters(holder_id=DRIVER),
)
_SENSORS: Final = (
    sensors.Filters(),
    *(sensors.Filters(search=text) for text in ("S1", "s15", "4321", "zz")),
    *(sensors.Filters(mounted=each) for each in (True, False)),
    *(sensors.Filters(heard=each) for each in Heard),
    *(sensors.Filters(type=each) for each in ("GPS", "DTG", "none")),
    sensors.Filters(company_id=BORROWER),
)
_LINES: Final = tuple(
    lines.Filters(search=search, state=state)
    for search in (None, "S1", "010", "01012", "zz")
    for state in (None, NwStatus.NORMAL, NwStatus.USE_SUSPENDED)
)
_PEOPLE: Final = tuple(
    people.Filters(company_id=None, role=role, search=search, enabled=enabled)
    for role in (Authority.DRIVER, Authority.DIRECTOR)
    for search, enabled in (
        (None, None),
        (None, False),
        *((each, None) for each in ("Kim", "d", "d12345", "010", "010-1234", "zz")),
    )
)
_COMPANIES: Final = (
    companies.Filters(),
    companies.Filters(search="company 10"),
    companies.Filters(operators=True),
    companies.Filters(service_type="taxi", operators=False),
)
_DELEGATIONS: Final = {
    side: (
        delegations.Filters(),
        delegations.Filters(search="V1"),
        delegations.Filters(search="zz"),
        delegations.Filters(company_id=other),
        *more,
    )
    for side, other, more in (
        (Side.GIVEN, BORROWER, tuple(delegations.Filters(automatic=each) for each in (True, False))),
        (Side.RECEIVED, BIG, tuple(delegations.Filters(used=each) for each in (True, False))),
    )
}
_ACCOUNTS: Final = (
    accounts.Filters(),
    accounts.Filters(role=Authority.DRIVER, enabled=True),
    accounts.Filters(role=Authority.COMPANY_ADMIN),
    accounts.Filters(enabled=False),
    accounts.Filters(search="d"),
    accounts.Filters(search="d1234"),
)
_APPLICATIONS: Final = tuple(
    applications.Filters(state=state, search=search)
    for state in (None, *ApplicationState)
    for search in (None, "Taxi1", "zz")
)
_SERVICES: Final = (services.Filters(), services.Filters(search="t"), services.Filters(enabled=True))
_MESSAGES: Final = tuple(
    messages.Filters(company_id=OPERATOR, state=state, search=search, channel=channel, name=name)
    for state in State
    for search, channel, name in (
        (None, None, None),
        (None, Channel.NOTIFY, None),
        (None, None, Name.TRIP),
        *((search, None, None) for search in ("s1", "zz")),
    )
)
