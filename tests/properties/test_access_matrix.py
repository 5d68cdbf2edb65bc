"""Permissions: every route, every role, own, delegated, foreign and unknown objects, from a table written by hand.

The table is `tests/support/access_table.py`; who asks for what is in `tests/support/access_world.py`. Nothing that a
cell does lasts, so that each is answered in the same world. A sample of the reaches in `domain/access.py` is taken away
one by one, and the table must miss it.

Not here: that every handler asks for what it declares (`test_authorisation.py`, made from `RULES`).
"""

import asyncio
import random
from collections import defaultdict

import pytest
from tests.support import access_table, rest, stores
from tests.support.access_world import ACTORS, PERSON, Undoing, World

from tripline.api import families
from tripline.domain import access
from tripline.domain.access import Action, Authority, Reach
from tripline.http import operations

TABLE = {route: cells.replace(" ", "") for route, cells in access_table.TABLE.items()}
LETTERS = {200: ".", 204: ".", 400: "B", 401: "U", 403: "F", 404: "N", 409: "B"}
BASE = "/api/tre/v1"
BEGINNINGS = ("/api/", "/health/", "/metrics", "/account/", "/map/")


def shape(route: str) -> str:
    """The route without the names of its ids, its query and its header."""
    method, path = route.partition("?")[0].split(" ", 1)
    full = path.partition(" toCompanyId=")[0]
    full = full if full.startswith(BEGINNINGS) else f"{BASE}{full}"
    return f"{method} " + "/".join("{}" if part.startswith("{") else part for part in full.split("/"))


CALLERS = ("platform administrator", "carrier", "P", "managing director", "delegated driver of P")
"""One of each role: a route asks for the same actions whichever of its role calls."""


class Play:
    """Requests to the settled world, none of which changes it."""

    def __init__(self, app: rest.Rest, world: World) -> None:
        self._app, self._world = app, world
        self._number = 0

    async def cell(self, route: str, actor: str) -> str:
        """The letter of what the route answers to the actor."""
        method, _, target = route.format_map(self._world.ids).partition(" ")
        path, _, to_company = target.partition(" toCompanyId=")
        login = self._world.logins[actor]
        headers = {"toCompanyId": to_company} if to_company else {}
        if login is not None:
            headers["X-Authorization"] = f"Bearer {login.token}"
        address = path if path.startswith(BEGINNINGS) else f"{BASE}{path}"
        sent = self._sent(route, login) if method in ("POST", "PUT") else {}
        answer = await self._app.http.request(method, address, headers=headers, **sent)
        if answer.status_code == 200 and shape(route) in HOLDS_TOKEN and answer.json()["credentialsId"] is None:
            return "-"
        return LETTERS[answer.status_code]

    def _sent(self, route: str, login: rest.Login | None) -> dict:
        """A body that would do: a registration that collides with no other, a choice; else a change of nothing."""
        self._number += 1
        number, ids = self._number, self._world.ids
        person = {**PERSON, "email": f"n{number}@new.example"}
        registers_operator = login is None or login.company_id is None
        delegates = "toCompanyId" in route or " /company" in route
        chosen = {"vehicleId": {"id": ids["W" if delegates else "V"]}}
        bodies = {
            "/company": rest.company_body(f"s{number}" if registers_operator else None, person["email"]),
            "/company/{}/admin": person,
            "/director": person,
            "/driver": person,
            "/vehicle": {"vehicleNo": f"new-{number}", "mileage": 1},
            "/sensor": {"serialNo": f"new-{number}", "type": "GPS", "credentialsId": f"{number:020d}"},
            "/application/{}/reject": {"reason": "No."},
            "/company/{}/relation/company": {"toCompanyId": {"id": ids["Q"]}},
            "/company/{}/relation/vehicle": chosen,
            "/director/{}/relation/vehicle": chosen,
            "/driver/{}/relation/vehicle": chosen,
        }
        files = {
            "/vehicles/bulk": b"vehicleNo,mileage\nnew,1\n",
            "/sensors/bulk": b"serialNo,type,credentialsId\nnew,GPS,%s\n" % (b"n" * 20),
        }
        method, path = shape(route).split(" ")
        end = path.removeprefix(BASE)
        if end in files:
            return {"content": files[end]}
        if path.endswith("/unpause"):
            return {"json": {"mdn": ids["mdn"]}}
        return {"json": bodies.get(end, {}) if method == "POST" else {}}


HOLDS_TOKEN = {"GET /api/tre/v1/sensor", "GET /api/tre/v1/sensor/{}"}
"""Routes that answer a device's access token to callers who may know it; the opened line of `free` has one too."""


class Stage:
    """The settled world on a database, and its application, for several event loops one after the other."""

    def __init__(self, folder) -> None:
        self._database = stores.fresh(folder)
        self._world = self._run(lambda world: world.settle(), undone=False)

    def play(self, scenario):
        """The result of a scenario, which is given a `Play`."""
        return self._run(lambda world: scenario(Play(world.app, world)), undone=True)

    @property
    def logins(self):
        """Who asks, by name."""
        return self._world.logins

    def _run(self, scenario, *, undone):
        async def playing():
            slot = int(undone) if stores.on_postgresql() else None
            app = rest.Rest(self._database, node=0x43 if undone else 0x42, slot=slot)
            try:
                if not undone:
                    return await scenario(World(app))
                app.contexts = app.over(Undoing(app.store))
                rest.application(app.contexts)
                self._world.app = app
                return await scenario(self._world)
            finally:
                await app.close()

        return asyncio.run(playing())


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    return Stage(tmp_path_factory.mktemp("matrix"))


class Asked(dict):
    """`access.RULES`, noting which actions are asked for."""

    def __init__(self, rules) -> None:
        super().__init__(rules)
        self.actions: set[Action] = set()

    def __getitem__(self, action):
        self.actions.add(action)
        return super().__getitem__(action)


@pytest.fixture(scope="module")
def asked(stage):
    """Every action with the routes that ask for it."""

    async def noted(play):
        routes = defaultdict(list)
        for route in TABLE:
            rules.actions.clear()
            for actor in CALLERS:
                await play.cell(route, actor)
            for action in rules.actions:
                routes[action].append(route)
        return routes

    with pytest.MonkeyPatch.context() as patch:
        rules = Asked(access.RULES)
        patch.setattr(access, "RULES", rules)
        return stage.play(noted)


def test_every_route_answers_every_role_as_the_table_says(stage):
    async def asked_by_all(play):
        return {route: "".join([await play.cell(route, actor) for actor in ACTORS]) for route in TABLE}

    answered = stage.play(asked_by_all)

    assert {route: cells for route, cells in answered.items() if cells != TABLE[route]} == {}


def test_table_names_every_route():
    served = {
        f"{method} {path}"
        for handler in operations.handlers_of(families.FAMILIES)
        for path in handler.paths
        for method in handler.http_methods
    }

    assert {shape(route) for route in served} == {shape(route) for route in TABLE}


async def differs(play, routes, actors):
    """Whether some of these cells is answered otherwise than the table says."""
    for route in routes:
        for actor in actors:
            if await play.cell(route, actor) != TABLE[route][ACTORS.index(actor)]:
                return True
    return False


def missed(stage, asked, action, role):
    """Whether the table tells that the row of this action and role is not as it was."""
    logins = {name: stage.logins[name] for name in ACTORS}
    actors = [name for name, login in logins.items() if login is not None and login.authority is role]
    return stage.play(lambda play: differs(play, asked[action], actors))


UNSEEN = {
    # What is registered or decided is nobody's row yet: the role alone is asked for.
    (Action.APPLICATION_REVIEW, Authority.SYS_ADMIN, Reach.ANY),
    (Action.CARRIER_ACT, Authority.CARRIER, Reach.ANY),
    (Action.COMPANY_CREATE, Authority.SYS_ADMIN, Reach.ANY),
    (Action.MAP_MANAGE, Authority.SYS_ADMIN, Reach.ANY),
    (Action.COMPANY_CREATE, Authority.COMPANY_ADMIN, Reach.OWN_COMPANY),
    (Action.PERSON_CREATE, Authority.COMPANY_ADMIN, Reach.OWN_COMPANY),
    (Action.SENSOR_CREATE, Authority.COMPANY_ADMIN, Reach.OWN_COMPANY),
    (Action.VEHICLE_CREATE, Authority.COMPANY_ADMIN, Reach.OWN_COMPANY),
    (Action.VEHICLE_CREATE, Authority.DIRECTOR, Reach.OWN_COMPANY),
    # A list is shorter, and answered all the same (tests/unit/api/test_companies.py).
    (Action.COMPANY_LIST, Authority.COMPANY_ADMIN, Reach.OWN_COMPANY),
    (Action.COMPANY_LIST, Authority.COMPANY_ADMIN, Reach.PARTNERS),
    # No director here drives; whoever reads what is driven may contest it, and reading is tried on directors who drove.
    (Action.DISPUTE_OPEN, Authority.DIRECTOR, Reach.DRIVING_RIGHT),
    (Action.DISPUTE_OPEN, Authority.DIRECTOR, Reach.SELF),
    # Another reach holds as well: every vehicle of a partner is delegated to its operator, everybody is a colleague.
    (Action.DISPUTE_OPEN, Authority.COMPANY_ADMIN, Reach.PARTNERS),
    (Action.RIGHT_READ, Authority.DIRECTOR, Reach.SELF),
    (Action.USER_READ, Authority.DIRECTOR, Reach.SELF),
    (Action.VEHICLE_DELEGATIONS_READ, Authority.COMPANY_ADMIN, Reach.PARTNERS),
    (Action.VEHICLE_READ, Authority.COMPANY_ADMIN, Reach.PARTNERS),
    # No director of this world may only drive (tests/properties/test_access_scopes.py).
    (Action.DRIVING_READ, Authority.DIRECTOR, Reach.DRIVING_RIGHT),
    (Action.VEHICLE_READ, Authority.DIRECTOR, Reach.DRIVING_RIGHT),
}
"""Reaches without which every route answers the same."""
OF_PAGES = {Action.ACCOUNT_MANAGE, Action.INSTALLATION_READ, Action.VEHICLE_DRIVE}
"""What pages of the portal alone ask for (tests/unit/portal/admin/test_admin.py, tests/unit/portal/driving)."""
CELLS = [(action, role) for action, row in access.RULES.items() for role in row if action not in OF_PAGES]
REACHES = [(action, role, reach) for action, role in CELLS for reach in access.RULES[action][role]]
REACHES.sort(key=lambda cell: [part.name for part in cell])
SAMPLE = {*random.Random(0).sample(REACHES, len(REACHES) // 4), *{each[0]: each for each in REACHES}.values()}
MUTANTS = [each for each in REACHES if each in SAMPLE]
"""A quarter of the reaches, and one of each action."""


@pytest.mark.deep
@pytest.mark.parametrize(("action", "role", "reach"), MUTANTS, ids=lambda part: part.name)
def test_reach_that_is_taken_away_is_missed(stage, asked, monkeypatch, action, role, reach):
    left = access.RULES[action][role] - {reach}
    monkeypatch.setitem(access.RULES, action, {**access.RULES[action], role: left})

    assert missed(stage, asked, action, role) is ((action, role, reach) not in UNSEEN)
