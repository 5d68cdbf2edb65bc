"""Who may do what: every route, every role, own, lent, foreign and unknown objects, from a table written by hand.

The table is written from the reference (roles of client-surface 9, rules 1 to 3, delegation), not from `access.RULES`.
The world: operator `ace`, its partner P, P's partner Q, another partner R, and the operator `other`, which has its own
vehicle X. P's vehicle V is managed by a director and lent to R; a director of R and a driver of P hold rights on it; a
driver without any right drove its trip. P's vehicle W is nobody's.
"""

from sqlalchemy import insert, update
from tests.support import journeys, rest

from tripline.domain.access import Authority
from tripline.store.tables import vehicle, vehicle_company, vehicle_user

UNKNOWN = "ffffffff-a4ed-11f0-8000-010000000042"

ACTORS = (
    "none",
    "platform administrator",
    "granted",
    "operator",
    "owner P",
    "Q",
    "lent to R",
    "other",
    "managing director",
    "director of P",
    "delegated director",
    "driver of P",
    "delegated driver",
)
CELLS = {200: ".", 400: "B", 401: "U", 403: "F", 404: "N"}

EXPECTED = {
    # no token, platform admin, granted | operator, P, Q, R, other | managing, other, delegated director | drivers
    "GET /company/me": "UNN ..... ... ..",
    "GET /company/{P}": "U.F ..FFF ..F ..",
    "GET /company/{other}": "U.F FFFF. FFF FF",
    "GET /company/{unknown}": "UNN NNNNN NNN NN",
    "GET /company/{P}/vehicles?limit=5": "UFF ..FFF ..F ..",
    "GET /company/{unknown}/vehicles?limit=5": "UFN NNNNN NNN NN",
    "GET /vehicle/{V}": "UFF ..F.F .F. F.",
    "GET /vehicle/{W}": "UFF ..FFF FFF FF",
    "GET /vehicle/{X}": "UFF FFFF. FFF FF",
    "GET /vehicle/{unknown}": "UFN NNNNN NNN NN",
    "GET /vehicle/{V}/trips?limit=5": "UFF ..F.F .F. F.",
    "GET /vehicle/{W}/trips?limit=5": "UFF ..FFF FFF FF",
    "GET /vehicle/{X}/trips?limit=5": "UFF FFFF. FFF FF",
    "GET /vehicle/{unknown}/trips?limit=5": "UFN NNNNN NNN NN",
    "GET /vehicle/{V}/trip/latest": "UFF ..F.F .F. F.",
    "GET /vehicle/{X}/trip/latest": "UFF FFFFN FFF FF",
    "GET /vehicle/{V}/microtrip/latest": "UFF ..F.F .F. F.",
    "GET /vehicle/{X}/microtrip/latest": "UFF FFFFN FFF FF",
    "GET /trip/{T}/microtrips?limit=5": "UFF ..F.F .F. ..",
    "GET /trip/{unknown}/microtrips?limit=5": "UFN NNNNN NNN NN",
    "GET /sensors?limit=5&companyId={P}": "UFF ..FFF ..F FF",
    "GET /sensors?limit=5": "UFF ..... ... FF",
    "GET /sensor?serialNo=on-V": "UFF ..F.N .F. FF",
    "GET /sensor/{on V}": "UFF ..F.F .F. FF",
    "GET /sensor/{free}": "UFF ..FFF FFF FF",
    "GET /sensor/{on X}": "UFF FFFF. FFF FF",
    "GET /sensor/{unknown}": "UFN NNNNN NNN FF",
    "GET /driver/{driver of P}": "U.F ..FFF ..F .F",
    "GET /driver/{managing director}": "U.F ..FFF ..F FF",
    "GET /driver/{unknown}": "UNN NNNNN NNN NN",
    "PUT /company/{P}": "U.F ..FFF FFF FF",
    "PUT /company/{other}": "U.F FFFF. FFF FF",
    "PUT /company/{unknown}": "UNN NNNNN FFF FF",
    "PUT /company": "UBB BBBBB FFF FF",
    "DELETE /company/{P}": "UBF BFFFF FFF FF",
    "DELETE /company/{other}": "UBF FFFFF FFF FF",
    "DELETE /company/{unknown}": "UNN NNNNN FFF FF",
    "GET /companies?limit=5": "U.F ..... FFF FF",
    "GET /companies?limit=5&serviceType=other": "U.F FFFF. FFF FF",
    "GET /companies/count?serviceType=ace": "U.F ....F FFF FF",
    "DELETE /company/{P}/admin/{admin of P}": "UBF BBFFF FFF FF",
    "DELETE /company/{P}/admin/{unknown}": "UNF NNFFF FFF FF",
    "PUT /company/{P}/admin/{admin of P}": "U.F ..FFF FFF FF",
    "PUT /company/{P}/admin/{unknown}": "UNF NNFFF FFF FF",
    "POST /company/{P}/admin": "U.F ..FFF FFF FF",
    "POST /company/{other}/admin": "U.F FFFF. FFF FF",
    "GET /company/{P}/admins?limit=5": "U.F ..FFF FFF FF",
    "GET /company/{other}/admins?limit=5": "U.F FFFF. FFF FF",
    "GET /director/{managing director}": "U.F ..FFF ..F FF",
    "GET /director/{driver of P}": "UNN NNNNN NNN NN",
    "PUT /director/{managing director}": "UFF F.FFF .FF FF",
    "PUT /driver/{driver of P}": "UFF F.FFF FFF .F",
    "PUT /driver/{unknown}": "UFN NNNNN NNN NN",
    "DELETE /director/{unknown}": "UFN NNNNN FFF FF",
    "DELETE /driver/{unknown}": "UFN NNNNN FFF FF",
    "GET /directors?limit=5&companyId={P}": "UFF ..FFF ..F FF",
    "GET /drivers?limit=5&companyId={P}": "UFF ..FFF ..F FF",
    "GET /drivers?limit=5": "UFF ..... ... FF",
    "GET /directors/count?companyId={P}": "UFF ..FFF ..F FF",
    "GET /drivers/count?companyId={other}": "UFF FFFF. FFF FF",
    "GET /director/{managing director}/vehicles?limit=5": "UFF ..FFF ..F FF",
    "GET /director/{managing director}/trips?limit=5": "UFF ..FFF .FF FF",
    "GET /director/{managing director}/trip/latest": "UFF NNFFF NFF FF",
    "GET /driver/{driver of P}/trips?limit=5": "UFF ..FFF FFF .F",
    "GET /driver/{driver of P}/trip/latest": "UFF ..FFF FFF .F",
    "GET /user?email=driver@people.example": "UFN ..NNN FFF FF",
    "GET /user?email=admin@other.example": "UFN NNNN. FFF FF",
    "POST /company": "UBB ..... FFF FF",
    "POST /vehicle": "UFF ..... ... FF",
    "POST /sensor": "UFF ..... FFF FF",
    "POST /director": "UFF ..... FFF FF",
    "POST /driver": "UFF ..... FFF FF",
    "POST /sensor/{free}/vehicle/{W}": "UFF F.FFF FFF FF",
    "POST /sensor/{free}/vehicle/{X}": "UFF FFFFF FFF FF",
    "POST /sensor/{unknown}/vehicle/{W}": "UFN NNNNN FFF FF",
}


async def world(app):
    """Logins by the names of ACTORS, and ids by the names in the routes."""
    _, operator = await app.operator("ace")
    _, owner = await app.partner(operator, "p@p.example")
    _, partner_of_partner = await app.partner(owner, "q@q.example")
    _, lent = await app.partner(operator, "r@r.example")
    _, other = await app.operator("other")
    managing = await app.person(owner, Authority.DIRECTOR, "managing")
    delegated_director = await app.person(lent, Authority.DIRECTOR, "delegated")
    driver = await app.person(owner, Authority.DRIVER, "driver")
    delegated_driver = await app.person(owner, Authority.DRIVER, "delegated-driver")
    logins = (
        None,
        await app.account("root@x.example", Authority.SYS_ADMIN),
        await app.account("granted@x.example", Authority.COMPANY_ADMIN),
        operator,
        owner,
        partner_of_partner,
        lent,
        other,
        managing,
        await app.person(owner, Authority.DIRECTOR, "idle"),
        delegated_director,
        driver,
        delegated_driver,
    )

    async def new(login, path, **body):
        return (await app.post(login, path, body))["id"]["id"]

    async def sensor(login, serial):
        return await new(login, "/sensor", serialNo=serial, type="GPS", credentialsId=serial.ljust(20, "-"))

    v = await new(owner, "/vehicle", vehicleNo="V", mileage=1)
    x = await new(other, "/vehicle", vehicleNo="X", mileage=1)
    on_v, on_x = await sensor(owner, "on-V"), await sensor(other, "on-X")
    await app.post(owner, f"/sensor/{on_v}/vehicle/{v}")
    await app.post(other, f"/sensor/{on_x}/vehicle/{x}")

    def lend(tx):
        # There is no operation for these relations yet: they are written as rows.
        tx.run(update(vehicle).where(vehicle.c.id == v).values(director_id=managing.user_id))
        common = {"created_ms": 1, "vehicle_id": v}
        companies = {"from_company_id": owner.company_id, "to_company_id": lent.company_id, "automatic": False}
        tx.run(insert(vehicle_company), {"id": "lent", **common, **companies})
        rights = ((delegated_director, "DELEGATED_DIRECTOR"), (delegated_driver, "DRIVER"))
        for login, role in rights:
            row = {"company_id": login.company_id, "user_id": login.user_id, "user_role": role}
            tx.run(insert(vehicle_user), {"id": f"right of {login.user_id}"[:36], **common, **row})
        columns = {"company_id": owner.company_id, "vehicle_id": v, "sensor_id": on_v, "user_id": driver.user_id}
        no, trip_id = journeys.keep_trip(tx, app.ids, created_ms=app.now_ms, **columns)
        journeys.keep_microtrip(tx, app.ids, no, created_ms=app.now_ms, payload={"lat": 1, "lon": 2})
        return trip_id

    objects = {
        "P": owner.company_id,
        "other": other.company_id,
        "V": v,
        "W": await new(owner, "/vehicle", vehicleNo="W", mileage=1),
        "X": x,
        "T": await app.store.write(lend),
        "on V": on_v,
        "on X": on_x,
        "free": await sensor(owner, "free"),
        "driver of P": driver.user_id,
        "managing director": managing.user_id,
        "admin of P": owner.user_id,
        "unknown": UNKNOWN,
    }
    return dict(zip(ACTORS, logins, strict=True)), objects


def fresh_body(path, number):
    """A registration that collides with no other, or a change of nothing."""
    person = {"name": "N", "email": f"n{number}@new.example", "password": "pass phrase"}
    return {
        "/company": rest.company_body(None, f"c{number}@new.example"),
        "/vehicle": {"vehicleNo": f"new-{number}", "mileage": 1},
        "/sensor": {"serialNo": f"new-{number}", "type": "GPS", "credentialsId": f"{number:020d}"},
        "/director": person,
        "/driver": person,
    }.get(path, person if path.endswith("/admin") else {})


async def observed(app):
    """The table as the program answers it."""
    logins, objects = await world(app)
    table = {}
    for row, route in enumerate(EXPECTED):
        method, path = route.format_map(objects).split(" ", 1)
        cells = []
        for column, login in enumerate(logins.values()):
            answer = await app.call(login, method, path, fresh_body(path, row * 100 + column))
            cells.append(CELLS[answer.status_code])
        table[route] = "".join(cells)
    return table


def test_every_route_answers_every_role_as_the_table_says(tmp_path):
    table = rest.run(tmp_path, observed)

    assert table == {route: cells.replace(" ", "") for route, cells in EXPECTED.items()}


def test_table_names_every_route_of_the_fleet():
    from tripline.api import administrators, companies, driven, sensors, trips, user_lists, users, vehicles

    served = {
        f"{method} {path.removeprefix('/api/tre/v1')}"
        for family in (administrators, companies, driven, sensors, trips, user_lists, users, vehicles)
        for handler in family.handlers
        for path in handler.paths
        for method in handler.http_methods
        if method != "HEAD"
    }

    def shape(route):
        return "/".join("{}" if part.startswith("{") else part for part in route.split("?")[0].split("/"))

    assert {shape(route) for route in served} == {shape(route) for route in EXPECTED}
