"""A server that is killed while it registers a draft: all rows are registered once, when it is back."""

import asyncio
import io
import random
import time

import pytest
from tests.support import drafts as support
from tests.support import servers, stores, waits
from tests.support.fleet import Company

from tripline.domain.access import Actor, Authority
from tripline.domain.ids import TimeIds
from tripline.domain.import_drafts import DraftId, State
from tripline.services.imports import drafts
from tripline.services.imports import kinds as import_kinds

ROWS = 6_000
KILLS = 3
PATIENCE_S = 90


class Desk:
    """An account at work beside a server, on its database."""

    def __init__(self, data, company):
        self._database = stores.Database(data)
        me = company.get("/api/auth/user")
        company_id = company.record["id"]["id"]
        self._actor = Actor(me["id"]["id"], Authority.COMPANY_ADMIN, company_id)
        self._ids = TimeIds(node=0x99)

    def registered(self):
        return self._database.rows("SELECT count(*) FROM vehicle")[0][0]

    def state(self, draft_id):
        return State(self._database.rows("SELECT state FROM import_draft WHERE id = ?", draft_id)[0][0])

    def until(self, draft_id, state):
        waits.seen(lambda: self.state(draft_id), lambda found: found is state, within_s=PATIENCE_S)

    def upload(self, content) -> DraftId:
        async def work(store):
            draft, _ = await drafts.receive(
                store,
                io.BytesIO(content),
                actor=self._actor,
                kind=import_kinds.VEHICLES,
                name="file.csv",
                most_rows=ROWS,
                ids=self._ids,
                clock=_now,
            )
            return draft.id

        return asyncio.run(self._with_store(work))

    def commit(self, draft_id):
        async def work(store):
            await store.write(lambda tx: drafts.commit(tx, actor=self._actor, draft_id=draft_id, now_ms=_now()))

        asyncio.run(self._with_store(work))

    async def _with_store(self, work):
        store = self._database.open()
        try:
            return await work(store)
        finally:
            await store.close()


def _now():
    return time.time_ns() // 1_000_000


@pytest.mark.deep
@pytest.mark.slow
def test_rows_are_registered_once_whenever_the_server_is_killed(tmp_path):
    data = tmp_path / "data"
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    moments = random.Random(seed)
    server = servers.start(data)
    listeners = servers.same_listeners(server)
    try:
        with Company(server.api, data) as company:
            desk = Desk(data, company)
        for kill in range(KILLS):
            draft_id = desk.upload(support.vehicles(ROWS, first=kill * ROWS))
            desk.until(draft_id, State.CHECKED)
            desk.commit(draft_id)
            # The worker looks every five seconds, since nobody tells it here; then it takes half a second.
            while desk._database.rows("SELECT holder FROM import_draft WHERE id = ?", draft_id) == [("",)]:
                time.sleep(0.005)
            time.sleep(moments.uniform(0, 0.4))
            server.kill()
            server.process.stdout.close()
            assert desk.registered() in (kill * ROWS, (kill + 1) * ROWS)
            server = servers.start(data, *listeners)
            desk.until(draft_id, State.DONE)
            assert desk.registered() == (kill + 1) * ROWS
    finally:
        server.kill()
        server.process.stdout.close()
