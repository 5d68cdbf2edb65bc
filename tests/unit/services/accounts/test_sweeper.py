"""The sweeper ends the sessions beyond those that an account may have."""

import pytest
from sqlalchemy import select, update
from tests.support import rest

from tripline.domain.access import Authority
from tripline.services.accounts import sweeper
from tripline.services.accounts.sweeper import Sweeper
from tripline.store.tables import account_session


@pytest.mark.parametrize(("most", "left"), [(2, 2), (4, 4), (5, 5), (6, 5)])
async def test_sessions_beyond_the_bound_end_and_those_in_use_stay(app: rest.Rest, monkeypatch, most, left):
    monkeypatch.setattr(sweeper, "SESSIONS", most)
    monkeypatch.setattr(sweeper, "BATCH", 1)

    kim = await app.account("kim@x.example", Authority.COMPANY_ADMIN)
    lee = await app.account("lee@x.example", Authority.COMPANY_ADMIN)
    await app.login(lee.user_id, "lee@x.example", Authority.COMPANY_ADMIN, None)
    for _ in range(4):
        app.now_ms += 1_000
        await app.login(kim.user_id, "kim@x.example", Authority.COMPANY_ADMIN, None)
    of_kim = select(account_session.c.id).where(account_session.c.user_id == kim.user_id)
    in_order = of_kim.order_by(account_session.c.created_ms)
    made = [row.id for row in await app.store.read(lambda tx: tx.all(in_order))]
    used = update(account_session).where(account_session.c.id == made[0]).values(rotated_ms=app.now_ms + 1)
    await app.store.write(lambda tx: tx.run(used))
    sweep = Sweeper(store=app.store, clock=lambda: app.now_ms, history_days=1)
    while await sweep.sweep():
        pass
    everything = await app.store.read(lambda tx: tx.all(select(account_session.c.id)))
    kept, in_all = [row.id for row in await app.store.read(lambda tx: tx.all(in_order))], len(everything)

    assert len(made) == 5
    assert kept == [made[0], *made[1:][-(left - 1) :]]
    assert in_all == left + 2
