"""Texts that somebody stored, shown on every page: never markup, whoever looks and whatever the field."""

import re
from pathlib import Path
from typing import Any

import msgspec
from tests.support import access_world
from tests.support import rest as support
from tests.support.access_world import World
from tests.support.portal import Browser, Page
from tests.support.rest import Rest
from tests.unit.portal import test_every_page as every

from tripline.api import families as rest_families
from tripline.http import operations
from tripline.http.operations import Operation

HOSTILE = "\"'><img src=x onerror=alert(1)><script>alert(1)</script>{{7*7}}"
SAMPLES = every.SAMPLES | {"adminId": "admin of P", "disputeId": "D"}
TRIES = 40
"""More than a record has fields."""
LOOKING = ("P", "operator", "managing director", "platform administrator")


def changes() -> list[Operation]:
    """Every operation of REST that changes a record with texts in it."""
    declared = operations.declared(rest_families.FAMILIES)
    return [each for each in declared if each.method == "PUT" and isinstance(each.request, type)]


async def soil(world: World, each: Operation) -> set[str]:
    """Fill every text of the operation's record with markup, leaving out fields that refuse it; which were filled."""
    path = re.sub(r"\{(\w+)\}", lambda found: world.ids[SAMPLES[found[1]]], each.path)
    body: dict[str, Any] = {
        field.encode_name: HOSTILE
        for field in msgspec.structs.fields(each.request)
        if "str" in repr(field.type) and "mail" not in field.encode_name.lower()
    }
    for _ in range(TRIES):
        answer = await world.app.call(world.of("P"), each.method, path, body)
        if answer.status_code == 200:
            return set(body)
        refused = re.search(r"'(\w+)'", answer.json()["message"])
        if refused is None or refused[1] not in body:
            return set()
        del body[refused[1]]
    return set()


def test_text_of_any_field_is_shown_as_text(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[dict[str, set[str]], list[str], int]:
        world = await access_world.settled(rest)
        filled = {each.path: await soil(world, each) for each in changes()}
        unsafe: list[str] = []
        shown = 0
        for name in LOOKING:
            asked = Browser(rest, world.logins[name])
            for address in sorted({every.addressed(world, each) for each in every.PAGES if each.method == "GET"}):
                answer = await asked.get(address)
                page = Page(answer.text)
                if answer.status_code == 200:
                    unsafe += [f"{address}: {what}" for what in every.inline(answer, page)]
                shown += HOSTILE in page.text
        return filled, unsafe, shown

    filled, unsafe, shown = support.run(tmp_path, scenario)

    assert sum(len(fields) for fields in filled.values()) > 20, filled
    assert unsafe == []
    assert shown > 0
