"""Loading in the background once a process serves: templates, and the page of a trip where trips are scored."""

import asyncio

import pytest
from tests.support import delegating, rest

from tripline.portal.frame import environment
from tripline.portal.frame.warm_up import EVERY_PAGE, TRIP_PAGE, warm_up
from tripline.services.scores import trip_view


@pytest.mark.parametrize("scored", [False, True])
async def test_pages_are_loaded_once_the_process_serves(app: rest.Rest, monkeypatch, scored):
    loaded = []
    monkeypatch.setattr(environment, "load", lambda *names: loaded.extend(names))
    monkeypatch.setattr(trip_view, "load", lambda: loaded.append("explanation"))

    if scored:
        _, admin = await app.operator("ace")
        vehicle = await delegating.new_vehicle(app, admin, "1")
        await app.store.write(delegating.scored_trip(app, admin, vehicle, admin))
    serves = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        warming = tasks.create_task(warm_up(store=app.store, serving=serves.wait))
        await asyncio.sleep(0)
        before = list(loaded)
        serves.set()
        await warming

    assert before == []
    assert loaded == [*EVERY_PAGE, *((*TRIP_PAGE, "explanation") if scored else ())]


def test_loaded_templates_are_compiled():
    environment.environment.cache_clear()

    environment.load(*EVERY_PAGE, *TRIP_PAGE)

    compiled = {name for _, name in environment.environment().cache}
    assert compiled >= {"components.html", *EVERY_PAGE, *TRIP_PAGE}
