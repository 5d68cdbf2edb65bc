"""Values at the edges of numbers, dates and texts, in every place of every operation and page: never an error of ours.

The cases are made from the declarations of operations and pages, from the forms on the pages, and from the names that
handlers read of a request, so that a new field needs no line here. Each run draws half of the values for each place.
Changes are undone.

Not here: bounds of lengths and characters (`test_request_limits.py`), other damage to messages (`tests/fuzz`).
"""

import asyncio
import html
import json
import os
import random
import re
from collections import deque
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any
from urllib.parse import quote

import pytest
from msgspec import inspect
from tests.fuzz import fuzz_pipeline
from tests.properties import test_request_limits as limits
from tests.support import access_world, bus_messages, bus_rig, extremes, rest, stores
from tests.support.access_world import Undoing
from tests.support.ingest_rig import Rig
from tests.support.portal import OWN, Browser, Page
from tests.support.rest import changed
from tests.unit.portal import test_every_page as every

from tripline import config
from tripline.api import families as rest_families
from tripline.config import files as config_files
from tripline.domain.access import RULES, Authority
from tripline.domain.ids import SensorId
from tripline.http import operations
from tripline.http.operations import Operation
from tripline.portal import families
from tripline.services.accounts.limits import Limits
from tripline.services.imports import kinds as import_kinds
from tripline.store import tables
from tripline.wire import csv_files
from tripline.wire.bus.envelopes import EVENTS, MICROTRIPS, TRIPS

pytestmark = pytest.mark.deep

SEED = int(os.environ.get("TRIPLINE_TESTS_SEED") or random.randrange(10**6))
PATIENT = Limits(accounts=limits.PATIENT, rest=config.Rest())
VISITORS = (every.NOBODY, "P", "platform administrator", "operator", "managing director", "carrier", "granted")
"""Of those who may open a page, the last is asked."""
UNTOLD = limits.COMPARED | {"mdn"}
"""Fields that are compared: a value without a match is refused as such."""
MOST_PAGES = 500
ONWARD = re.compile(r"/[^?]*(\?after=[^&]*)?$")
"""Links to things and to the next page of a list; others show the same in another order."""
LINK = re.compile(r'<a\s[^>]*?\bhref="([^"]*)"')
"""Pages escape what closes a tag or a value, and a parser takes longer than the page itself."""
BATCH = 200
BOUNDS = {"z": "x"}
"""Fields whose value bounds another one."""


def declared(family: ModuleType) -> list[Operation]:
    return operations.declared([family])


def named(family: ModuleType) -> str:
    return family.__name__.rpartition(".")[2]


def places(value: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """The ways to every value inside a JSON value."""
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield from places(each, *path, key)


def put(value: Any, path: tuple[Any, ...], literal: str) -> bytes:
    """The JSON value with a literal at the end of the path."""
    mark = "\ue000"

    def changed(at: Any, path: tuple[Any, ...]) -> Any:
        if not path:
            return mark
        copy = at.copy()
        copy[path[0]] = changed(at[path[0]], path[1:])
        return copy

    return json.dumps(changed(value, path)).replace(json.dumps(mark), literal).encode()


def drawn(values: Sequence[str], place: str) -> list[str]:
    """Half of the values, for this place."""
    return random.Random(f"{SEED} {place}").sample(values, (len(values) + 1) // 2)


class Asking:
    """Asks a REST operation for extreme values, and notes each answer that is none of its own."""

    def __init__(self, world: limits.World, each: Operation) -> None:
        self._world, self._each = world, each
        self.base = {value.name: str(value.example) for value in each.query if value.required}
        self.paths = {value.name: str(value.example) for value in each.in_path} | world.ids
        self.wrong: list[str] = []
        self._usual = ""

    def body(self) -> Any:
        return self._world.body(self._each) if self._each in limits.BODIES else None

    async def ask(self, place: str, name: str, value: str, *, body: Any = None, **query: Any) -> None:
        """One request; `name`: of the field that a refusal names."""
        path = re.sub(r"\{(\w+)\}", lambda found: quote(self.paths.get(found[1], "x"), safe=""), self._each.path)
        login, body = self._world.caller(self._each), self.body() if body is None else body
        answer = await self._world.app.call(login, self._each.method, path, body, **self.base | query)
        status, message = answer.status_code, answer.text if answer.status_code >= 400 else ""
        if status == 400:
            message = answer.json()["message"]
        if not name:
            self._usual = message
        told = f"'{name}'" in message or name in UNTOLD or message == self._usual
        told |= f"'{BOUNDS.get(name)}'" in message
        told |= value in extremes.NOT_JSON and message.startswith("The body must be a JSON object")
        if status >= 500 or (status == 400 and not told):
            self.wrong.append(f"{self._each.name} {place} {name}={value[:40]}: {status} {message[:120]}")

    async def everything(self, read: extremes.Read) -> None:
        """Values at each place."""
        await self.ask("usual", "", "")
        for name in sorted({value.name for value in self._each.query} | read.of_query[self._each.name]):
            for value in drawn((*extremes.QUERY, *extremes.CURSORS), f"{self._each.name} {name}"):
                await self.ask("query", name, value, **{name: value})
        for name in re.findall(r"\{(\w+)\}", self._each.path):
            usual = self.paths.get(name)
            for value in drawn(extremes.QUERY, f"{self._each.name} {name}"):
                self.paths[name] = value
                await self.ask("path", name, value)
            self.paths[name] = usual or "x"
        for path in places(self.body() or {}):
            for literal in drawn((*extremes.LITERALS, *extremes.NOT_JSON), f"{self._each.name} {path}"):
                await self.ask("body", path[0], literal, body=put(self.body(), path, literal))


@pytest.mark.parametrize("family", rest_families.FAMILIES, ids=named)
async def test_extreme_value_is_taken_or_refused_by_its_name(app: rest.Rest, family):
    world = limits.World(app)
    world.logins, world.ids = await app.staged(limits._settled)
    app.change(store=Undoing(app.store), limits=PATIENT)
    wrong = []
    with extremes.reading() as read:
        for each in declared(family):
            asking = Asking(world, each)
            await asking.everything(read)
            wrong += asking.wrong

    assert wrong == [], f"TRIPLINE_TESTS_SEED={SEED}"


def forms(page: Page, address: str) -> dict[str, dict[str, str]]:
    """The fields of the page's forms with their values, by the path that each is sent to."""
    found: dict[str, dict[str, str]] = {}
    fields: dict[str, str] = {}
    for tag, each in page.elements:
        if tag == "form":
            fields = found.setdefault((each.get("action") or address).partition("?")[0], {})
        elif tag in ("input", "select", "textarea") and each.get("name"):
            fields.setdefault(each["name"] or "", each.get("value") or "")
    return found


ENDLESS = {"/map/stream"}
"""An answer without an end, and without a parameter (tests/unit/portal/live/test_stream.py)."""


@pytest.mark.parametrize("family", families.FAMILIES, ids=named)
async def test_extreme_value_of_a_page_is_no_error_of_ours(app: rest.Rest, family):
    world = await access_world.settled(app)
    app.contexts = changed(app.contexts, store=Undoing(app.store), limits=PATIENT)
    visitors = {name: Browser(app, world.logins[name]) for name in VISITORS}
    sent, wrong = {}, []

    async def ask(each, value, **more):
        name = [name for name in VISITORS if every.is_open_to(world, each, name)][-1]
        answer = await visitors[name].http.request(each.method, every.addressed(world, each), headers=OWN, **more)
        if answer.status_code >= 500:
            wrong.append(f"{each.method} {each.path} as {name} {value[:40]}: {answer.status_code}")
        return answer

    with extremes.reading() as read:
        for each in sorted(declared(family), key=lambda each: each.method):
            if each.path in ENDLESS:
                continue
            address = every.addressed(world, each)
            if each.method == "GET":
                answer = await ask(each, "as usual")
                if answer.status_code == 200 and "html" in answer.headers["content-type"]:
                    sent |= forms(Page(answer.text), address)
            else:
                await ask(each, "as usual", data=sent.get(address, {}))
            for name in sorted({value.name for value in each.query} | read.of_query[each.name]):
                for value in drawn((*extremes.FEW, *extremes.CURSORS), f"{each.name} {name}"):
                    await ask(each, f"{name}={value}", params={name: value})
            form = sent.get(address, {}) if each.method != "GET" else {}
            for name in sorted(form.keys() | (read.of_form[each.name] if each.method != "GET" else set())):
                for value in drawn(extremes.FEW, f"{each.name} {name}"):
                    await ask(each, f"form {name}={value}", data=form | {name: value})

    assert wrong == [], f"TRIPLINE_TESTS_SEED={SEED}"


def of_access_world(app, world):
    """The world whose pages there are, as `test_request_limits` knows one."""
    found = limits.World(app)
    found.ids = {name: world.ids[each] for name, each in every.SAMPLES.items()} | {"toCompanyId": world.ids["R"]}
    found.ids["tripId"] = world.ids["T"]
    callers = {
        Authority.COMPANY_ADMIN: "P",
        Authority.SYS_ADMIN: "platform administrator",
        Authority.CARRIER: "carrier",
    }
    found.logins = {authority: world.of(name) for authority, name in callers.items()}
    return found


async def broken(app, world):
    """Every page that its administrators reach by links, and every list of REST: those that are an error of ours."""
    wrong = []
    for name in ("P", "platform administrator"):
        visitor = Browser(app, world.logins[name])
        seen = {
            every.addressed(world, each) for each in every.DECLARED if each.method == "GET" and each.path not in ENDLESS
        }
        waiting = deque(sorted(seen))
        while waiting and len(seen) < MOST_PAGES:
            address = waiting.popleft()
            answer = await visitor.get(address)
            if answer.status_code >= 500:
                wrong.append(f"{address} as {name}: {answer.status_code}")
            elif "html" in answer.headers.get("content-type", ""):
                hrefs = map(html.unescape, LINK.findall(answer.text))
                more = sorted(set(filter(ONWARD.match, hrefs)) - seen)
                seen.update(more)
                waiting += more
    asking = of_access_world(app, world)
    for each in limits.LISTS:
        answer = await asking.call(each, limit="1000")
        wrong += [f"{each.name}: {answer.status_code}"] if answer.status_code >= 500 else []
    trips = await app.get(world.of("P"), f"/vehicle/{world.ids['V']}/trips", limit=1_000)
    for trip in trips["data"]:
        for path in (f"/trip/{trip['id']['id']}", f"/trip/{trip['id']['id']}/microtrips?limit=1000"):
            answer = await app.call(world.of("P"), "GET", path)
            wrong += [f"{path}: {answer.status_code}"] if answer.status_code >= 500 else []
    return wrong


async def test_numbers_and_dates_that_were_taken_are_shown_everywhere(app: rest.Rest):
    world = await access_world.settled(app)
    app.change(limits=PATIENT)
    wrong, taken = [], 0
    asking = of_access_world(app, world)
    for each in limits.BODIES:
        if "/auth/" in each.path or RULES.get(each.access, {}).keys().isdisjoint(asking.logins):
            continue
        kinds = limits._fields(each)
        for path in places(asking.body(each)):
            if kinds[path[0]] <= {inspect.StrType, inspect.NoneType, inspect.StructType}:
                continue
            literals = (*extremes.NUMERALS, *map(json.dumps, (*extremes.NUMERALS, *extremes.DATES)))
            for literal in drawn(literals, f"taken {each.name} {path}"):
                answer = await asking.call(each, put(asking.body(each), path, literal))
                taken += answer.status_code == 200
                wrong += [f"{each.name} {path}={literal[:40]}"] if answer.status_code >= 500 else []
    wrong = wrong + await broken(app, world)

    assert wrong == [], f"TRIPLINE_TESTS_SEED={SEED}"
    assert taken > 100


async def with_app(database, scenario, *more, **parts):
    app = rest.Rest(database, **parts)
    try:
        return await scenario(app, *more)
    finally:
        await app.close()


def test_numbers_and_dates_that_devices_send_are_shown_everywhere(tmp_path):
    database = stores.fresh(tmp_path)
    world = asyncio.run(with_app(database, access_world.settled))
    at = rest.NOW_MS - 60_000
    literals = (*extremes.NUMERALS, *map(json.dumps, extremes.FEW_NUMERALS))
    bodies = [
        put(body, path, literal)
        for number, body in enumerate(fuzz_pipeline.seeds(at))
        for path in places(body)
        for literal in drawn(literals, f"device {number} {path}")
    ]
    with Rig(database) as rig:
        rig.ids.skip_to(rig.ids.take(1, now_ms=rest.NOW_MS))
        for batch in range(0, len(bodies), BATCH):
            sent = rig.send(*bodies[batch : batch + BATCH], at=rest.NOW_MS, sensor=SensorId(world.ids["on V"]))
            assert sum(map(len, sent.settlements)) == len(bodies[batch : batch + BATCH])
        rig.run(rig.positions.write_down())
        assert [
            body for reason, body in rig.rows(tables.rejected_message, "reason", "body") if reason == "internal"
        ] == []
        assert len(rig.rows(tables.microtrip, "no")) > len(bodies) / 4

    assert asyncio.run(with_app(database, broken, world, node=0x43)) == [], f"TRIPLINE_TESTS_SEED={SEED}"


def test_numbers_and_dates_of_the_bus_are_shown_everywhere(tmp_path):
    database = stores.fresh(tmp_path)
    world = asyncio.run(with_app(database, access_world.settled))
    of = {"companyId": world.ids["P"], "vehicleId": world.ids["V"], "sensorId": world.ids["on V"], "as_text": False}
    kinds = ((bus_messages.microtrip, MICROTRIPS), (bus_messages.trip, TRIPS), (bus_messages.event, EVENTS))
    literals = (*extremes.NUMERALS, *map(json.dumps, (*extremes.FEW_NUMERALS, *extremes.DATES)))
    messages = [
        bus_rig.message(put(make(**of), path, literal), topic=topic)
        for make, topic in kinds
        for path in places(make(**of))
        for literal in drawn(literals, f"bus {topic} {path}")
    ]
    with bus_rig.BusRig(database) as rig:
        rig.now_ms = rest.NOW_MS
        rig.ids.skip_to(rig.ids.take(1, now_ms=rest.NOW_MS))
        refused = []
        for batch in range(0, len(messages), BATCH):
            refused += bus_rig.reasons(rig.take(messages[batch : batch + BATCH]))
        rig.run(rig.positions.write_down())
        assert "internal" not in refused
        assert len(rig.rows(tables.device_event, "no")) > 100

    assert asyncio.run(with_app(database, broken, world, node=0x43)) == [], f"TRIPLINE_TESTS_SEED={SEED}"


@pytest.mark.parametrize("kind", [import_kinds.VEHICLES, import_kinds.SENSORS], ids=lambda kind: kind.noun)
async def test_extreme_cell_is_taken_or_refused_by_its_column(app: rest.Rest, kind):
    """One value a row, each in a file for each column; no row is kept."""
    (usual, *_), names = kind.sheet.sample, list(kind.sheet.columns)
    texts = [text for text in extremes.QUERY if "\0" not in text]  # with one, no row of the file is read

    world = await access_world.settled(app)
    wrong = []
    for name in names:
        rows = [{**usual, kind.keys[0].column: f"row {no}", name: text} for no, text in enumerate(texts)]
        if "credentialsId" in names and name != "credentialsId":
            rows = [{**row, "credentialsId": f"{no:020d}"} for no, row in enumerate(rows)]
        file = csv_files.written([names, *([row.get(each, "") for each in names] for row in rows)])
        query = {"dryRun": "true", "skipBadRows": "true"}
        answer = await app.call(world.of("P"), "POST", f"/{kind.noun}/bulk", file, **query)
        report = answer.json()
        if answer.status_code != 200 or report["rows"] != len(rows):
            wrong.append(f"{name}: {answer.status_code} {answer.text[:200]}")
            continue
        bad = [each for each in report["errors"] if each["field"] != name]
        wrong += [f"{name}: {each}" for each in bad]

    assert wrong == []


@pytest.mark.once("settings touch no store")
def test_extreme_setting_is_taken_or_refused_in_words():
    values = (*extremes.NUMBERS, *(float(each) for each in ("inf", "-inf", "nan", "1e308")), *extremes.QUERY)
    wrong = []
    for setting in config_files.settings():
        for value in values:
            try:
                config_files.load(file=None, variables={}, flags={setting.name: value})
            except config_files.WrongSettingError:
                continue
            except Exception as error:
                wrong.append(f"{setting.name}={str(value)[:40]}: {error!r}")

    assert wrong == []
