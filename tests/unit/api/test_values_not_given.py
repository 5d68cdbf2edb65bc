"""Query values that are empty, `null` or `undefined` are not given (spec/rest 5.1)."""

from typing import Any

from tests.support.access_world import Undoing, World, settled
from tests.support.rest import Login, Rest

from tripline.api import families
from tripline.http import operations
from tripline.http.operations import Operation

NOT_GIVEN = ("null", "undefined", "")
OPERATIONS = {
    operation.name: operation
    for family in families.FAMILIES
    for operation in operations.declared([family])
    if operation.query and operation.name != "maps.import_map"  # begins an import each time: `test_maps.py`
}
IN_PATH = {
    "companyId": "P",
    "vehicleId": "V",
    "sensorId": "on V",
    "directorId": "managing director",
    "driverId": "driver of P",
    "userId": "driver of P",
    "tripId": "T",
}
REQUIRED = {
    "limit": "5",
    "vehicleNo": "V",
    "email": "p@admins.example",
    "serviceType": "ace",
}
FILE = b"vehicleNo,mileage,serialNo,type,credentialsId\n,,,,\n"
"""Its only row is bad, so that nothing is registered whatever the query says."""
PLATFORM = frozenset({"applications.list_all"})


def _alone(operation: Operation) -> dict[str, str]:
    """The query with what the operation cannot do without."""
    if operation.name == "sensors.find":
        return {"serialNo": "on-V"}
    return {value.name: REQUIRED[value.name] for value in operation.query if value.required}


def _asks(operation: Operation, world: World) -> Login:
    return world.of("platform administrator" if operation.name in PLATFORM else "P")


async def _answer(app: Rest, world: World, operation: Operation, query: dict[str, str]) -> tuple[int, Any]:
    """Status and body, without the time that an error carries."""
    ids = {name: world.ids[IN_PATH[name]] for name in operation.path_ids}
    path = operation.path.format(**ids, **{value.name: value.example for value in operation.in_path})
    body = FILE if operation.method == "POST" else None
    answer = await app.call(_asks(operation, world), operation.method, path, body, **query)
    told = answer.json() if answer.content else {}
    return answer.status_code, {name: value for name, value in told.items() if name != "timestamp"}


async def test_unset_text_in_any_value_of_a_query_is_answered_as_without_it(app: Rest) -> None:
    world = await settled(app)
    app.change(store=Undoing(app.store))
    good, wrong = set(), []
    for name, operation in OPERATIONS.items():
        alone = _alone(operation)
        if (await _answer(app, world, operation, alone))[0] in (200, 204):
            good.add(name)
        for value in operation.query:
            without = {other: text for other, text in alone.items() if other != value.name}
            expected = await _answer(app, world, operation, without)
            for text in NOT_GIVEN:
                if await _answer(app, world, operation, {**without, value.name: text}) != expected:
                    wrong.append((name, value.name, text))

    assert (good, wrong) == (OPERATIONS.keys(), [])


async def test_every_value_of_a_next_page_link_may_come_back_as_the_text_of_what_it_is(app: Rest) -> None:
    world = await settled(app)
    p = world.of("P")
    whole = await app.get(p, "/sensors", limit=10)
    names: list[str] = []
    query: dict[str, Any] = {"limit": 1}
    while query:
        page = await app.get(p, "/sensors", **query)
        names += [record["serialNo"] for record in page["data"]]
        link = page["nextPageLink"] or {}
        query = {name: "null" if value is None else str(value) for name, value in link.items()}
    walked, whole = names, [record["serialNo"] for record in whole["data"]]

    assert len(whole) > 1
    assert walked == whole
