"""Every operation, every role, own, delegated, foreign and unknown things: made from the one table of permissions.

For each operation the cells are worked out from its declared action, `access.RULES`, and what is true in the world
(`tests/support/authorities.py`). So an operation without a row, a row that was taken away, and a handler that asks for
something else than it declares all show. Whether the rows themselves are right is held by `test_access_matrix.py`,
whose table is written by hand.

Bodies are empty, so what is let pass mostly ends at the check of the body; what changes the world is undone.
"""

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support import authorities, reference, stores
from tests.support.access_world import Undoing
from tests.support.authorities import UNKNOWN, Thing, World
from tests.support.rest import Login, Rest

from tripline.domain import access
from tripline.domain.access import Action, Authority, Gate
from tripline.http.operations import Operation
from tripline.store.transactions import Store

pytestmark = pytest.mark.deep

PASSES, UNAUTHENTICATED, FORBIDDEN, UNKNOWN_THING = "passes", "no account", "forbidden", "unknown"
OPERATIONS = {each.name: each for each in reference.every_operation() if each.access is not Gate.MACHINE}


@dataclass(frozen=True)
class Subject:
    """A value of the path or query that names a thing, and the row of RULES that the thing is held against."""

    name: str
    noun: str
    action: Action | None = None
    """None: the operation's own; for a free subject it is not asked."""
    among: tuple[str, ...] = ()
    """The things to try; empty: all of the noun."""
    free: bool = False
    """Whether any existing thing will do."""
    nested: bool = False
    """Whether the look-up happens inside the others, so that only those who may see them hear of it."""


VEHICLE, COMPANY = Subject("vehicleId", "vehicle"), Subject("companyId", "company")
SEEN = Subject("companyId", "company", Action.COMPANY_READ)
ADMINISTRATOR = Subject("userId", "administrator", among=("P",), nested=True)
BORROWER = Subject("toCompanyId", "company", among=("R", "was delegated to S"), free=True)
DIRECTOR, DRIVER = Subject("directorId", "director"), Subject("driverId", "driver")

USUAL = {
    "applicationId": Subject("applicationId", "application"),
    "companyId": COMPANY,
    "directorId": DIRECTOR,
    "disputeId": Subject("disputeId", "dispute"),
    "driverId": DRIVER,
    "rescoringId": Subject("rescoringId", "rescoring"),
    "sensorId": Subject("sensorId", "sensor"),
    "tripId": Subject("tripId", "trip"),
    "vehicleId": VEHICLE,
}
SPECIAL = {
    "administrators.change": (COMPANY, ADMINISTRATOR),
    "administrators.delete": (COMPANY, ADMINISTRATOR),
    "assignments.set_director": (VEHICLE, Subject("directorId", "director", Action.VEHICLE_RECEIVE_DIRECTOR)),
    "assignments.set_driver": (VEHICLE, Subject("driverId", "driver", Action.VEHICLE_RECEIVE_DRIVER)),
    "assignments.unset_director": (VEHICLE, Subject("directorId", "director", Action.VEHICLE_RECEIVE_DIRECTOR)),
    "assignments.unset_driver": (VEHICLE, Subject("driverId", "driver", Action.VEHICLE_RECEIVE_DRIVER)),
    "candidates.remove": (COMPANY, BORROWER),
    "companies.list_vehicles": (SEEN,),
    "delegations.delegate": (BORROWER,),
    "delegations.list_delegating": (SEEN,),
    "delegations.list_received": (SEEN,),
    "delegations.take_back": (BORROWER, VEHICLE),
    "trip_lists.list_of_company": (SEEN,),
    "trip_lists.sums_of_company": (SEEN,),
    "trip_lists.read_day": (VEHICLE,),
    "trip_lists.read_day_track": (VEHICLE,),
    "maps.cancel_import": (),
    "maps.continue_import": (),
    "maps.import_map": (),
    "maps.remove_map": (),
    "history.of_user": (Subject("userId", "driver"),),
    "policies.read_policy": (),
    "positions.read": (SEEN,),
    "rights.give_director": (Subject("directorId", "director", Action.RIGHT_RECEIVE_DIRECTOR),),
    "rights.give_driver": (Subject("driverId", "driver", Action.RIGHT_RECEIVE_DRIVER),),
    "rights.read_director": (DIRECTOR,),
    "rights.read_driver": (DRIVER,),
    "rights.take_back_director": (VEHICLE, Subject("directorId", "director", Action.RIGHT_RECEIVE_DIRECTOR)),
    "rights.take_back_driver": (VEHICLE, Subject("driverId", "driver", Action.RIGHT_RECEIVE_DRIVER)),
    "rpc.read": (Subject("sensorId", "sensor", among=("own",)), Subject("requestId", "call", nested=True)),
    # Unknown ones alone: who may end which is in tests/unit/portal/sharing and in the access matrix.
    "share_links.end": (Subject("linkId", "vehicle", among=("none",)),),
    "users.list_managed": (Subject("directorId", "director", Action.USER_READ),),
}
"""Operations whose things are not simply held against the operation's own row."""

STANDING = {
    "date": "2025-01-01",
    "file": "none",
    "area": "none",
    "policy": "1",
    "sessionId": UNKNOWN,
    "vehicleId": UNKNOWN,
    "z": "14",
    "x": "8624",
    "y": "5743.mvt",
}
"""Values of paths that no subject is found by."""
WITHOUT_COMPANY = {
    "companies.change_named",
    "companies.read_mine",
    "trends.scores_to_attend",
    "share_links.list_links",
    "companies.register",
    "imports.sensors_sample",
    "imports.vehicles_sample",
    "policies.list_policies",
    "policies.read_policy",
    "sensors.find",
    "users.find",
    "vehicles.find",
}
"""What a granted account may call before it registered its company: it finds nothing, or what is of no company. Else it
is told to register."""


def subjects(operation: Operation) -> tuple[Subject, ...]:
    """What decides the operation: its path ids, and the company in its query."""
    if operation.name in SPECIAL:
        return SPECIAL[operation.name]
    if not isinstance(operation.access, Action):
        return ()
    named = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    if any(value.name == "companyId" for value in operation.query):
        return (SEEN,)
    return tuple(USUAL[name] for name in named)


def choices(world: World, operation: Operation) -> Iterator[dict[str, Thing | None]]:
    """Which things to try together, by the name of the value; None is unknown. One varies, the others stand."""
    wanted = subjects(operation)
    every = {
        subject.name: [
            *(thing for name, thing in world.things[subject.noun].items() if name in (subject.among or (name,))),
            None,
        ]
        for subject in wanted
    }
    seen = set()
    for subject in wanted:
        others = [other for other in wanted if other is not subject]
        for standing in itertools.product(*(every[other.name][:2] for other in others)):
            for thing in every[subject.name]:
                chosen = {**dict(zip((other.name for other in others), standing, strict=True)), subject.name: thing}
                key = tuple(sorted((name, each and each.id) for name, each in chosen.items()))
                if key not in seen:
                    seen.add(key)
                    yield chosen
    if not wanted:
        yield {}


def expected(world: World, operation: Operation, actor: Login | None, enabled: bool, chosen) -> str:
    """What the table says of this cell."""
    needed = operation.access
    if needed is Gate.ANYONE:
        return PASSES
    if actor is None or not enabled:
        return UNAUTHENTICATED
    if needed is Gate.SIGNED_IN:
        return PASSES
    if needed is Gate.ACCOUNT:
        # A session is found among the caller's own, and no id here names one.
        return UNKNOWN_THING if "{sessionId}" in operation.path else PASSES
    if actor.authority not in access.RULES[needed]:
        return FORBIDDEN
    if not chosen and actor.company_id is None and actor.authority is Authority.COMPANY_ADMIN:
        return PASSES if operation.name in WITHOUT_COMPANY else FORBIDDEN
    if operation.name == "share_links.end" and actor.company_id is None:
        return FORBIDDEN  # links are a company's, which is asked for first
    asked = subjects(operation)
    for together in ([each for each in asked if not each.nested], [each for each in asked if each.nested]):
        if any(chosen[subject.name] is None for subject in together):
            return UNKNOWN_THING
        if not all(subject.free or reached(world, operation, subject, actor, chosen) for subject in together):
            return FORBIDDEN
    return PASSES


def reached(world: World, operation: Operation, subject: Subject, actor: Login, chosen) -> bool:
    """Whether the thing is within the actor's reach, by the row and by what no row can say."""
    thing = chosen[subject.name]
    if operation.name == "disputes.withdraw_dispute" and actor.user_id != thing.user_id:
        return False
    reaches = access.RULES[subject.action or operation.access].get(actor.authority, frozenset())
    if any(world.holds(reach, actor, thing) for reach in reaches):
        return True
    holder = any(right[:2] == (chosen.get("vehicleId", thing).id, thing.id) for right in world.rights)
    if operation.name == "assignments.set_driver" and subject.name == "driverId":
        return holder and actor.authority is not Authority.DRIVER
    if operation.name == "assignments.unset_driver" and subject.name == "driverId":
        return actor.authority is not Authority.DRIVER
    if operation.name.startswith("rights.take_back") and subject.name != "vehicleId":
        # The owner of a vehicle takes back any right on it.
        return actor.authority is Authority.COMPANY_ADMIN and actor.company_id == chosen["vehicleId"].company_id
    return False


def observed(answer) -> str:
    """What the answer says of the permission."""
    if answer.status_code == 204:
        return PASSES
    if answer.headers["content-type"].split(";")[0] != "application/json" or answer.status_code == 200:
        assert answer.status_code in (200, 400), answer.text
        return PASSES
    body = answer.json()
    about_a_thing = body["message"].startswith("There is no ") and body["message"].endswith("with this id.")
    match body["status"], body["errorCode"]:
        case 401, 10 if "X-Authorization" in body["message"] or "session of this token" in body["message"]:
            return UNAUTHENTICATED
        case 403, 20:
            return FORBIDDEN
        case 404, 32 if about_a_thing:
            return UNKNOWN_THING
        case (400, 30 | 31) | (401, 10) | (404, 32) | (409, 2):
            return PASSES
    raise AssertionError(body)


class Stage:
    """The world on a database; what operations change is undone, so that each cell is answered in the same world."""

    def __init__(self, folder: Path) -> None:
        self._database = stores.fresh(folder)
        self.world = asyncio.run(self._built())

    async def _built(self) -> World:
        app = Rest(self._database)
        try:
            return await authorities.build(app)
        finally:
            await app.close()

    def app(self) -> Rest:
        """The application on the world."""
        # Its clock stands still too, so another maker makes its ids.
        return Rest(self, node=0x43, slot=1 if stores.on_postgresql() else None)

    def open(self) -> Store:
        """The store that every part of the application writes to in vain."""
        return Undoing(self._database.open())


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    return Stage(tmp_path_factory.mktemp("authorisation"))


async def play(stage: Stage, operation: Operation) -> list[tuple]:
    """Every cell of the operation: who, on what, what the table says, what was answered, where those differ."""
    differing = []
    app = stage.app()
    try:
        for chosen in choices(stage.world, operation):
            ids = {name: UNKNOWN if thing is None else thing.id for name, thing in chosen.items()}
            path = operation.path.format_map({**STANDING, **ids})
            query = {name: value for name, value in ids.items() if f"{{{name}}}" not in operation.path}
            if any(value.name == "limit" for value in operation.query):
                query["limit"] = "5"
            for name, actor in stage.world.actors.items():
                body = {} if operation.method in ("POST", "PUT") else None
                answer = await app.call(actor, operation.method, path, body, **query)
                said = observed(answer)
                wanted = expected(stage.world, operation, actor, name != "a disabled account", chosen)
                if said != wanted:
                    differing.append(
                        (name, {key: each and each.id for key, each in chosen.items()}, wanted, said, answer.text)
                    )
    finally:
        await app.close()
    return differing


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation_answers_every_role_as_its_row_says(stage, name):
    assert asyncio.run(play(stage, OPERATIONS[name])) == []


DECIDING = {
    action: each
    for each in OPERATIONS.values()
    for action in (each.access, *(subject.action for subject in subjects(each)))
    if isinstance(action, Action)
}


def test_every_row_of_the_table_decides_an_operation():
    # The access token inside a sensor's record is no operation of its own, and pages alone disable accounts,
    # show the installation and let drivers take vehicles; unit tests hold who sees the one and does the other.
    of_pages = {Action.ACCOUNT_MANAGE, Action.INSTALLATION_READ, Action.VEHICLE_DRIVE}
    assert set(Action) - set(DECIDING) == {Action.SENSOR_CREDENTIAL_READ, *of_pages}


@pytest.mark.parametrize("action", [*DECIDING][::8], ids=lambda action: action.value)
def test_row_that_is_taken_away_is_missed(stage, monkeypatch, action):
    # In a copy: a row taken out of the table and put back would stand last, and a page is made in the rows' order.
    monkeypatch.setattr(access, "RULES", {other: row for other, row in access.RULES.items() if other is not action})

    with pytest.raises((KeyError, AssertionError)):
        asyncio.run(play(stage, DECIDING[action]))
