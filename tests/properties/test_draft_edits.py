"""Whatever is mended in whatever order: the verdicts are those of a check of the whole draft."""

import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, given, settings
from tests.support import rest, stores
from tests.support.drafts import Office

from tripline.services.imports import drafts

SERIALS = ("", "A", "B", "C")
TOKENS = ("", "a" * 20, "b" * 20, "c" * 20)
rows = st.tuples(st.sampled_from(SERIALS), st.sampled_from(TOKENS))
edits = st.tuples(st.integers(0, 5), rows, st.sampled_from([None, None, True, False]))


async def _office(app):
    """The administrator of a company with a sensor."""
    _, login = await app.operator("ace")
    await app.post(login, "/sensor", {"serialNo": "C", "type": "GPS", "credentialsId": "x" * 20})
    return login


@settings(max_examples=stores.examples(30), suppress_health_check=list(HealthCheck))
@given(first=st.lists(rows, min_size=1, max_size=6), changes=st.lists(edits, max_size=8))
def test_mended_rows_have_the_verdicts_of_a_check_of_all(first, changes):
    async def scenario(app):
        desk = Office(app, await app.staged(_office))
        lines = "".join(f"{serial},{token},GPS\n" for serial, token in first)
        draft = await desk.checked(f"serialNo,credentialsId,type\n{lines}".encode(), "sensors")
        for number, (serial, token), skip in changes:
            await desk.edit(draft, 2 + number % len(first), {0: serial, 1: token}, skip=skip)
        mended = await desk.rows(draft), _counts(await desk.read(draft))
        await desk.does(draft, drafts.check)
        await desk.work()
        return mended, (await desk.rows(draft), _counts(await desk.read(draft)))

    with tempfile.TemporaryDirectory() as folder:
        mended, checked = rest.run(Path(folder), scenario)

    assert mended == checked


def _counts(draft):
    return draft.good, draft.bad, draft.duplicate, draft.skipped
